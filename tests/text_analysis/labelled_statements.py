"""Two hundred texts with the statements that they make about their speaker, labelled by hand.

A line is a text, then, after " => ", what a careful reader may note: `attribute = value`, several of them
separated by `; `. `!` before the attribute marks a denial or an end, `~` the past, `@Name` another subject.
Nothing after the arrow means that nothing may be noted. Texts that begin with "NOTE:" have no role.
"""

SPEAKER = "The user"

LABELLED = """
I live in Rotterdam. => lives_in = Rotterdam
We've lived in Aberdeen since 2014. => lives_in = Aberdeen
I just moved to Porto with my cat. => lives_in = Porto
I'm based in Kuala Lumpur these days. => lives_in = Kuala Lumpur
Last spring I moved from Ghent to Antwerp. => lives_in = Antwerp
I live in a tiny flat in Bristol. => lives_in = Bristol
I no longer live in Cork. => !lives_in = Cork
I don't live in Hamburg any more, too much rain. => !lives_in = Hamburg
I used to live in Tbilisi. => ~lives_in = Tbilisi
I lived in Nairobi as a student. => ~lives_in = Nairobi
I'm originally from Salta. => home_town = Salta
I grew up in Dundee. => grew_up_in = Dundee
My hometown is Kraków. => home_town = Kraków
I live in constant fear of deadlines. =>
I live for the weekend. =>
If I lived in Rome I would eat out every night. =>
I would love to live in Madeira. =>
Do you think I live in Leeds? =>
My cousin wants me to move to Perth. =>
I might move to Vienna next year. =>
I wish I lived in Lisbon. =>
She said "I live in Zagreb" and laughed. =>
Imagine I live in Tokyo and earn twice as much. =>
I never said I live in Prague. =>
My plane landed in Oslo an hour ago. =>
I work at Vattenfall. => works_at = Vattenfall
I'm working for the Red Cross now. => works_at = Red Cross
I've worked at Siemens for eleven years. => works_at = Siemens
I started working at Lidl in March. => works_at = Lidl
I got a new job at Spotify! => works_at = Spotify
I used to work at Nokia. => ~works_at = Nokia
I worked for Barclays before the kids came. => ~works_at = Barclays
I no longer work at Nokia. => !works_at = Nokia
I quit my job at Tesco yesterday. => !works_at = Tesco
I'm a nurse. => works_as = a nurse
I'm a marine biologist at Deltares. => works_as = a marine biologist; works_at = Deltares
I work as an interpreter. => works_as = an interpreter
I was promoted to Lead Designer at Miro. => works_as = Lead Designer; works_at = Miro
I am a retired teacher. => works_as = a retired teacher
I work hard at being patient. =>
I work at night. =>
I work for myself. =>
I'm a mess today. =>
I'm a big believer in naps. =>
I'm a bit of a teacher's pet. =>
I feel like a nurse half the time. =>
I want to work at Nintendo one day. =>
I was thinking about a job at Airbus. =>
You told me that I work at Shell. =>
My therapist thinks I'm a perfectionist. =>
I'm not a doctor. => !works_as = a doctor
I study architecture. => studies = architecture
I'm studying at Leiden University. => studies_at = Leiden University
I study people for fun. =>
My name is Oluwaseun Adeyemi. => name = Oluwaseun Adeyemi
Hi, I'm Kirsten! => name = Kirsten
Hello there, I'm Rafael and I need some help. => name = Rafael
I'm Batman. =>
I'm German, not Austrian. =>
My name is not important. =>
What's my name? =>
My birthday is on 14 October. => birthday = 14 October
My birthday is March 3rd, 1991. => birthday = March 3rd, 1991
I was born on 2 May 1978. => birthday = 2 May 1978
I was born in Recife. => born_in = Recife
I was born to be wild. =>
I'm 42 years old. => age = 42
I turned 30 last Tuesday. => age = 30
I'm 27, by the way. => age = 27
I'm 15 minutes late. =>
I'm 100% sure. =>
I'm 5 weeks into the course. =>
My mother turned 80 in June. => @The user's mother age = 80
My son is 6 years old. => @The user's son age = 6
I'm married. => marital_status = married
I'm married to Henrike. => partner = Henrike
We got engaged, can you believe it? =>
My favourite colour is teal. => favourite_colour = teal
My favorite band is Sigur Rós. => favourite_band = Sigur Rós
My all-time favourite dish is mushroom risotto. => favourite_dish = mushroom risotto
My favourite thing is when it snows. =>
My favourite part was the ending. =>
One of my favourite films is Amélie. =>
That's my favourite! =>
I love rock climbing. => likes = rock climbing
I really like dark chocolate. => likes = dark chocolate
I enjoy baking bread, knitting and long walks. => likes = baking bread; likes = knitting; likes = long walks
I'm a huge fan of Studio Ghibli. => likes = Studio Ghibli
I'm passionate about bird watching. => likes = bird watching
I love the Beatles. => likes = the Beatles
I used to love karaoke. => ~likes = karaoke
I love it. =>
I love that song! =>
I like how you explain things. =>
I love you. =>
I'd love a coffee. =>
I would like to book a table. =>
I like the idea. =>
I like your plan a lot. =>
I like what they did with the kitchen. =>
I love when the house is quiet. =>
I liked the second option better. =>
I look like my father. =>
I feel like pizza tonight. =>
They love hiking. =>
My flatmate loves techno. => @The user's flatmate likes = techno
I like music that makes me cry. =>
I don't like coriander. => dislikes = coriander
I hate flying. => dislikes = flying
I can't stand loud bars. => dislikes = loud bars
I'm not a fan of blue cheese. => dislikes = blue cheese
I hate it when that happens. =>
I hate to say this. =>
I hate my landlord for that. =>
I don't like him. =>
I don't like coffee any more. => !likes = coffee
I prefer aisle seats. => prefers = aisle seats
I prefer tea to coffee. => prefers = tea to coffee
I prefer not to say. =>
I'd prefer the second one. =>
I'm allergic to penicillin. => allergic_to = penicillin
I'm severely allergic to peanuts and kiwi. => allergic_to = peanuts; allergic_to = kiwi
I have a latex allergy. => allergic_to = latex
I'm not allergic to cats. => !allergic_to = cats
I'm allergic to Mondays. =>
I'm allergic to that kind of thinking. =>
I'm lactose intolerant. => intolerant_to = lactose
I'm vegan. => diet = vegan
I became a vegetarian two years ago. => diet = vegetarian
I'm no longer vegan. => !diet = vegan
I have asthma. => has_condition = asthma
I was diagnosed with celiac disease in 2019. => has_condition = celiac disease
I have type 2 diabetes. => has_condition = type 2 diabetes
I have a headache. =>
I have no idea. =>
I have to go now. =>
I take 20 mg of citalopram. => dose_of_citalopram = 20 mg
I'm taking 500 mg of metformin twice a day. => dose_of_metformin = 500 mg
I take the bus. =>
My weight is 71 kg. => weight = 71 kg
I'm 183 cm tall. => height = 183 cm
My rent is €950 a month. => rent = €950 a month
My blood type is O negative. => blood_type = O negative
My phone number is 07700 900123. => phone = 07700 900123
My email is lena.m@example.org. => email = lena.m@example.org
My shoe size is 44. => shoe_size = 44
My point is simple. =>
My problem is the deadline. =>
My sister Ingrid lives in Tromsø. => sister = Ingrid; @Ingrid lives_in = Tromsø
My husband, Tomás, works at Repsol. => husband = Tomás; @Tomás works_at = Repsol
I'm seeing my friend Bogdan on Friday. => friend = Bogdan
My daughter is called Freya. => daughter = Freya
Nkechi is my best friend. => best_friend = Nkechi
My boss is Annelies. => boss = Annelies
My brother lives in Osaka. => @The user's brother lives_in = Osaka
My mum works as a midwife. => @The user's mum works_as = a midwife
I have two sisters. => number_of_sisters = two
I have three kids. => number_of_children = three
My sister is tired. =>
My brother is Italian at heart. =>
My friend Monday night was lovely. =>
My neighbour's dog barks all night. =>
Is Ingrid my sister? =>
My sister says I live in the past. =>
I have a dog named Pixel. => dog = Pixel
My cat's name is Mochi. => cat = Mochi
I have two cats. => has_pet = two cats
I have an old Volvo. =>
I have a red bicycle. => owns = a red bicycle
I drive a Skoda Octavia. => owns = a Skoda Octavia
I own a small bakery. => owns = a small bakery
I have a question. =>
I have a cold. =>
I had a dog. =>
I want a dog named Pixel. =>
I speak Basque and Spanish. => speaks = Basque; speaks = Spanish
I'm fluent in Portuguese. => speaks = Portuguese
I speak for all of us. =>
I don't speak Dutch. => !speaks = Dutch
I play the cello. => plays = the cello
I play chess every Thursday. => plays = chess
I play along sometimes. =>
I run every morning. => habit = run every morning
I call my grandmother every Sunday. => habit = call my grandmother every Sunday
I'm planning to visit Iceland in July. => plans = visit Iceland in July
I plan to retire next year. => plans = retire next year
I've decided to learn Finnish. => plans = learn Finnish
I'm planning a trip to Jordan. => plans = a trip to Jordan
I'm going to move to Malta. => plans = move to Malta
I'm going to bed. =>
I'll see. =>
I will never move to Malta. =>
I'm not planning to visit Iceland. =>
Are you planning to visit Iceland? =>
Actually, I live in Utrecht. => lives_in = Utrecht
No, my birthday is on 15 October. => birthday = 15 October
Sorry, I haven't written in a while. =>
No, I meant the blue one. =>
Actually, that's fine. =>
Correction: I work at Philips. => works_at = Philips
`I live in Turin` is the placeholder text. =>
> I live in Tallinn
[2026-02-01] The user lives in Riga. =>
For example, I live in Sofia and want to fly. =>
According to this form I live in Minsk. =>
Just kidding, I live in Narnia. =>
NOTE: Alice works at Acme. => @Alice works_at = Acme
NOTE: Alice administers GitHub. =>
NOTE: Björn's favourite tea is lapsang. => @Björn favourite_tea = lapsang
NOTE: The user is allergic to wasps. => allergic_to = wasps
NOTE: Dr. Osei moved to Accra. => @Dr. Osei lives_in = Accra
NOTE: Meeting moved to Berlin office. =>
NOTE: Paris is lovely in spring. =>
NOTE: Marta is 34 years old. => @Marta age = 34
"""
