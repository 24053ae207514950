"""Two hundred texts with the statements that they make, labelled before the rules were run on them.

The format is that of `labelled_statements`, which the rules were corrected with; these texts were written and
labelled first, without the patterns in view, and measure how often the rules are right on other words. `?`
before a label marks what may be noted and need not be, `|` stands between labels of which one suffices, and
an indented line goes on with the one before. A text is never taken out because it fails. What was measured
before and after corrections is in docs/roadmap.md.
"""

HELDOUT = """
Hello there, this is Marguerite from Lyon. => ?name = Marguerite; ?lives_in = Lyon; ?home_town = Lyon
My name's Tendai and I run a small pottery studio. => name = Tendai; ?works_as = a potter; ?owns = a small
    pottery studio
People call me Buzz, but it says Bertram on my passport. => ?name = Bertram; ?nickname = Buzz; ?name = Buzz
I'm based in Thessaloniki these days. => lives_in = Thessaloniki
We relocated to Halifax in 2019 for my wife's job. => lives_in = Halifax
My flat is in Leith, right above a bakery. => ?lives_in = Leith
I've been living out of a suitcase in Tbilisi since March. => lives_in = Tbilisi
I spent last weekend in Ghent with a couple of friends. =>
I live for the weekends, to be honest. =>
I live two doors down from a fire station. => ?lives_in = two doors down from a fire station
I'm staying in Lisbon until Friday for a conference. =>
I come from a tiny village near Oaxaca. => ?home_town = a tiny village near Oaxaca; ?home_town = Oaxaca
I was born and raised in Dunedin. => born_in = Dunedin; ?grew_up_in = Dunedin
I was born to be a night owl, apparently. =>
I grew up a lot during that year abroad. =>
I grew up on a dairy farm in Jutland. => ?grew_up_in = a dairy farm in Jutland; ?grew_up_in = Jutland
My hometown is Gdynia, on the Baltic coast. => ?home_town = Gdynia
We moved from Ottawa to Winnipeg when I was six. => ?~lives_in = Ottawa; ?~lives_in = Winnipeg
We're thinking of moving to Valencia at some point. =>
I moved the sofa to Berlin Street storage. =>
I'm moving to Utrecht at the end of August. => ?plans = move to Utrecht at the end of August; ?plans = moving
    to Utrecht at the end of August
I work in logistics at Maersk. => works_at = Maersk; ?works_in = logistics; ?works_as = logistics
I work as hard as anybody on the team. =>
I work at night because it's quieter. =>
I work out at the gym on Tuesdays. => ?habit = work out at the gym on Tuesdays; ?habit = works out at the gym
    on Tuesdays
I've been a paramedic for eleven years. => works_as = a paramedic
I'm a freelance translator, mostly legal texts. => works_as = a freelance translator
I'm a big believer in writing things down. =>
I'm a Scorpio, so that explains it. =>
I'm a bit of a mess this morning. =>
I'm a mother of twins and permanently tired. => ?has_children = twins; ?number_of_children = two
I was a mechanic before my back gave out. => ~works_as = a mechanic
I quit my job at Deloitte last month. => ?!works_at = Deloitte; ?~works_at = Deloitte
I just got promoted to head of purchasing. => ?works_as = head of purchasing
My job title is process engineer, level two. => ?works_as = process engineer; ?job_title = process engineer,
    level two; ?job_title = process engineer; ?works_as = process engineer, level two
I start at Novo Nordisk on the first of May. => ?plans = start at Novo Nordisk on the first of May
I interviewed at Spotify yesterday and it went badly. =>
I teach chemistry at a secondary school in Wigan. => ?works_as = a chemistry teacher; ?teaches = chemistry
I manage a team of nine people. => ?manages = a team of nine people
My company makes industrial freezers. =>
Our office is in Bratislava. =>
I report to Henrietta, who sits in Dublin. => ?boss = Henrietta; ?manager = Henrietta
My boss Radoslav wants the slides by noon. => ?boss = Radoslav
I'm studying for the bar exam. => ?studies = the bar exam; ?studies = for the bar exam
I study marine ecology at the University of Bergen. => studies = marine ecology; ?studies_at = University of
    Bergen; ?studies_at = the University of Bergen
I did my degree in Padua ages ago. =>
I graduated from McGill in 2008. => ?graduated_from = McGill; ?studied_at = McGill; ?~studies_at = McGill
I'm 34 and I still can't cook rice. => age = 34
I'm 10 minutes away from the station. =>
I'm 90 percent sure that it was the router. =>
I turned fifty in June, can you believe it. => age = fifty
I turned 30 pages before I noticed. =>
I'm turning 28 next Sunday. => ?plans = turn 28 next Sunday
My birthday is on the 9th of November. => birthday = the 9th of November | 9th of November | 9 November
I was born on 17 April 1983 in a taxi. => birthday = 17 April 1983
My sister's birthday is 3 June. => ?@The user's sister birthday = 3 June
My daughter turned seven yesterday. => ?@The user's daughter age = seven
My grandfather is 91 and still drives. => @The user's grandfather age = 91
My husband Emre is a dentist. => husband = Emre; ?@Emre works_as = a dentist
My cousin Thandiwe lives in Durban. => cousin = Thandiwe; ?@Thandiwe lives_in = Durban
My aunt lives in Perth. => ?@The user's aunt lives_in = Perth
My neighbour's dog is called Bandit. => ?@The user's neighbour dog = Bandit; ?@The user's neighbour's dog name
    = Bandit
Our dog Biscuit ate my homework, literally. => dog = Biscuit
We have a rescue greyhound and a tortoise. => ?has_pet = a rescue greyhound; ?has_pet = a tortoise; ?has_pet =
    a rescue greyhound and a tortoise
My hamster died last spring. => ?~has_pet = hamster; ?~has_pet = a hamster
I'm getting a kitten next month. => ?plans = get a kitten next month; ?plans = getting a kitten next month
I have two brothers, both in the navy. => number_of_brothers = two; ?has_brothers = two
I have three meetings before lunch. =>
I have a cold and a deadline. =>
I have a brother who thinks he's a chef. => ?has_brother = a brother
I have no siblings. => ?number_of_siblings = no; ?!has_siblings = siblings; ?number_of_siblings = 0
I don't have any children. => ?!has_children = children; ?number_of_children = 0
My partner and I have been together for six years. =>
My partner Ludo is lactose intolerant. => partner = Ludo; ?@Ludo intolerant_to = lactose
I'm engaged to a wonderful man called Piotr. => ?fiance = Piotr; ?partner = Piotr; ?marital_status = engaged
I'm married to my work. => ?marital_status = married
I've been divorced for two years. => ?marital_status = divorced
I got married in 2016 in a barn. => ?marital_status = married
My ex-husband Carl kept the car. =>
My mum's called Beatriz. => ?mother = Beatriz; ?mum = Beatriz
My best mate Olly is getting married in June. => ?best_friend = Olly; ?friend = Olly; ?best_mate = Olly
My friend recommended a book about bees. =>
My friends Zora and Milan are visiting. => ?friend = Zora; ?friend = Milan
I like my coffee black. => ?likes = my coffee black; ?likes = their coffee black; ?prefers = coffee black
I like where this is going. =>
I like how you explained that. =>
I'd like a table for four at eight. =>
I like to paddle out before sunrise. => likes = to paddle out before sunrise | paddling out before sunrise |
    paddle out before sunrise
I love a good thunderstorm. => likes = a good thunderstorm
I love you, you're the best assistant. =>
I love it when the build is green. =>
I loved that answer, thanks! =>
I absolutely adore Studio Ghibli films. => likes = Studio Ghibli films
I enjoy restoring old radios. => likes = restoring old radios
I can't stand the smell of lilies. => dislikes = the smell of lilies
I hate to bother you again. =>
I hate that I have to ask this twice. =>
I really dislike group projects. => dislikes = group projects
I'm not a fan of musicals. => dislikes = musicals
I'm a huge fan of Fairuz. => likes = Fairuz
I used to like techno, not any more. => ~likes = techno | !likes = techno; ?!likes = techno; ?~likes = techno
I don't mind spicy food. =>
I don't eat pork. => ?diet = no pork; ?!eats = pork; ?avoids = pork; ?!diet = pork
I don't drink coffee after four. => ?!drinks = coffee after four; ?habit = no coffee after four
I don't like olives at all. => dislikes = olives
My favourite season is autumn. => favourite_season = autumn
My favorite author is Ursula Le Guin. => favourite_author = Ursula Le Guin | favorite_author = Ursula Le Guin
Autumn is my favourite time to hike. => ?favourite_time_to_hike = Autumn; ?favourite_time = Autumn
My favourite part is the ending. => ?favourite_part = the ending
I prefer short answers without bullet points. => prefers = short answers without bullet points
I prefer not to say. =>
I prefer trains over planes whenever possible. => prefers = trains over planes; ?prefers = trains over planes
    whenever possible
I'd prefer the earlier slot. =>
I'm allergic to cashews and bee stings. => allergic_to = cashews; allergic_to = bee stings
I'm allergic to Mondays. => ?allergic_to = Mondays
I'm not allergic to anything as far as I know. => ?!allergic_to = anything
My son is allergic to eggs. => ?@The user's son allergic_to = eggs
I'm gluten free for medical reasons. => ?diet = gluten free; ?diet = gluten-free
I've been vegetarian since university. => diet = vegetarian
I went vegan for a month once. =>
I'm trying to be vegan, but cheese exists. =>
I keep kosher at home. => ?diet = kosher
I have migraines about twice a month. => ?has_condition = migraines
I was diagnosed with ADHD as an adult. => has_condition = ADHD
I take 75 micrograms of levothyroxine before breakfast. => dose_of_levothyroxine = 75 micrograms
I take the tram to work. => ?habit = take the tram to work
I take 2 sugars in my tea. =>
I take no medication at the moment. =>
My blood pressure was 130 over 85 yesterday. => ?blood_pressure = 130 over 85; ?~blood_pressure = 130 over 85
I weigh 64 kilos. => weight = 64 kilos
I'm 1.78 m tall. => height = 1.78 m
I'm 5 foot 4. => ?height = 5 foot 4
I wear a size 39 shoe. => ?shoe_size = 39
My phone number is 0151 496 0321. => phone = 0151 496 0321 | phone_number = 0151 496 0321
My email is still j.okoro@example.net. => email = j.okoro@example.net
My rent went up to 1,240 dollars. => ?rent = 1,240 dollars
My budget for the bike is 900 euros. => ?budget = 900 euros; ?budget_for_the_bike = 900 euros
My flight number is LX318. => ?flight_number = LX318
My flight lands at 6:40 in the morning. =>
My wifi password is under the router. =>
My code doesn't compile. =>
My guess is Thursday. => ?guess = Thursday
My question is about invoices. =>
My point is that it's too slow. =>
My name is on the lease. =>
My car is a 2011 Honda Jazz. => ?car = a 2011 Honda Jazz; ?owns = a 2011 Honda Jazz
My car is in the garage until Wednesday. =>
I drive a battered Land Rover. => owns = a battered Land Rover | drives = a battered Land Rover
I drive to Cologne twice a month. => ?habit = drive to Cologne twice a month; ?habit = drives to Cologne twice
    a month
I own a narrowboat called Dipper. => owns = a narrowboat called Dipper | owns = a narrowboat
I own up to that mistake. =>
I bought a second-hand accordion on Saturday. => ?owns = a second-hand accordion
I sold my motorbike last year. => ?!owns = my motorbike; ?~owns = my motorbike; ?!owns = motorbike; ?~owns = a
    motorbike; ?!owns = a motorbike
I have a Nikon FM2 from the eighties. => ?owns = a Nikon FM2 from the eighties; ?owns = a Nikon FM2
I collect vintage postcards. => ?collects = vintage postcards; ?likes = collecting vintage postcards
I speak Wolof and French at home. => speaks = Wolof; speaks = French
I speak to my therapist on Fridays. => ?habit = speak to my therapist on Fridays; ?habit = speaks to their
    therapist on Fridays; ?habit = speak to their therapist on Fridays
I speak a little Danish. => speaks = Danish | speaks = a little Danish
I don't speak any German, sorry. => !speaks = German
I'm fluent in Portuguese. => speaks = Portuguese
I'm learning Korean with an app. => ?learns = Korean; ?studies = Korean; ?learning = Korean
My native language is Tamil. => ?native_language = Tamil; ?speaks = Tamil
I play bass in a wedding band. => plays = bass; ?plays = bass in a wedding band
I play devil's advocate sometimes. =>
I play for the over-forties team on Sundays. => ?habit = play for the over-forties team on Sundays; ?habit =
    plays for the over-forties team on Sundays
I played rugby at school. => ~plays = rugby | ~plays = rugby at school
I go swimming every Wednesday evening. => habit = go swimming every Wednesday evening | habit = goes swimming
    every Wednesday evening
I get up at half past five on weekdays. => ?habit = get up at half past five on weekdays; ?habit = gets up at
    half past five on weekdays
I usually skip breakfast. => ?habit = skip breakfast; ?habit = skips breakfast
I always forget my umbrella. => ?habit = forget my umbrella; ?habit = forgets their umbrella; ?habit = forget
    their umbrella
I smoked for ten years and quit in 2020. => ?~habit = smoke; ?~habit = smoked for ten years
I'm planning to hike the Kungsleden in July. => plans = hike the Kungsleden in July; ?plans = to hike the
    Kungsleden in July
I'm going to the dentist on Monday. => ?plans = go to the dentist on Monday; ?plans = the dentist on Monday
I'm going to need more coffee. =>
I'm going to try that and report back. => ?plans = try that and report back; ?plans = try that
I want to run a half marathon before I'm forty. => ?plans = run a half marathon before I'm forty; ?plans = run
    a half marathon; ?wants = run a half marathon before I'm forty; ?wants = to run a half marathon
I want to know how that works. =>
I hope to retire early. => ?plans = retire early
We're flying to Osaka on the 12th. => ?plans = fly to Osaka on the 12th; ?plans = flying to Osaka on the 12th
I've booked a cottage in Donegal for September. => ?plans = a cottage in Donegal for September
If I move to Oslo I'll need a new bank. =>
I might take up fencing. =>
I wish I lived closer to the sea. =>
Suppose I work at Bosch and earn 50k. =>
Imagine I'm a pirate who lives in Tortuga. =>
Do I live in the wrong century? =>
He said "I live in Antwerp and I hate it". =>
She works at Roche, not me. =>
In the story I am a detective from Prague. =>
In my dream last night I had a pet tiger. =>
Write a bio: I am Sven, I live in Malmö. =>
As they say, I am what I am. =>
Sorry, I thought you were my landlord. =>
Actually, my sister lives in Turin, not Milan. => @The user's sister lives_in = Turin
No, I meant the second invoice. =>
Actually I'm vegetarian, so no ham please. => diet = vegetarian
I no longer work at Ericsson. => !works_at = Ericsson
I don't live in Graz any more, we bought a house in Linz. => !lives_in = Graz; ?lives_in = Linz; ?owns = a
    house in Linz; ?owns = a house
I stopped playing the flute when I was twelve. => ?!plays = the flute; ?~plays = the flute
My sister hates broccoli. => ?@The user's sister dislikes = broccoli
My wife works at the town library. => @The user's wife works_at = the town library | @The user's wife works_at
    = town library
NOTE: Ottilie works at Carlsberg and lives in Roskilde. => @Ottilie works_at = Carlsberg; @Ottilie lives_in =
    Roskilde
NOTE: Ravi is allergic to shellfish. => @Ravi allergic_to = shellfish
NOTE: The kickoff with Mbali is on Thursday. =>
NOTE: Paris works best for the offsite. =>
NOTE: Jolanda's favourite fruit is mango. => @Jolanda favourite_fruit = mango
NOTE: Mercury is the smallest planet. =>
"""

LATER = """
Quick intro: I'm Yusra, I live in Gothenburg and I work for Volvo. => ?name = Yusra; ?lives_in = Gothenburg;
    ?works_at = Volvo
My wife and I live in a small flat in Trondheim. => lives_in = Trondheim
Since the divorce I've lived alone in Cork. => ?lives_in = Cork; ?marital_status = divorced
I lived in Nairobi for three years before coming here. => ~lives_in = Nairobi
My parents live in Plovdiv. => ?@The user's parents lives_in = Plovdiv
We're moving to Aarhus in spring, can't wait. => ?plans = move to Aarhus in spring
I moved to Malmö two years ago. => lives_in = Malmö
I moved to Malmö for a year in 2009. =>
I moved my savings to Revolut. =>
My brother moved to Calgary last autumn. => ?@The user's brother lives_in = Calgary
I'm originally from Split but I've been in Vienna since 2015. => home_town = Split; ?lives_in = Vienna
I grew up in Hobart. => grew_up_in = Hobart
I'm from the future, obviously. =>
I was born in Arequipa in 1979. => born_in = Arequipa; ?birth_year = 1979
I was born in the year of the tiger. =>
I work at a bakery, nothing fancy. => ?works_at = a bakery
I work for Médecins Sans Frontières. => works_at = Médecins Sans Frontières
I work from home on Mondays and Fridays. => ?habit = work from home on Mondays and Fridays
I work with Python every day. => ?habit = work with Python every day; ?works_with = Python
I've worked at Siemens Energy since 2018. => works_at = Siemens Energy
I worked for Nestlé back then. => ~works_at = Nestlé
I left Nokia for good. => ?!works_at = Nokia
I'm a paediatric nurse in Lund. => works_as = a paediatric nurse
I'm a student at Heriot-Watt. => ?works_as = a student; ?studies_at = Heriot-Watt; ?works_at = Heriot-Watt
I'm a terrible cook. =>
I'm a lawyer by training, not by choice. => ?works_as = a lawyer
I'm a model citizen, officer. =>
I'm the designer of this logo, so I'm biased. =>
I've been a teacher for twenty years. => works_as = a teacher
I was a waiter in my student days. => ~works_as = a waiter
I work as a sound engineer and part-time DJ. => works_as = a sound engineer | a sound engineer and part-time
    DJ
My job is boring but it pays. =>
My manager is Katarzyna. => manager = Katarzyna | boss = Katarzyna
My landlord is Mr Petrov. => landlord = Mr Petrov
My dentist is on holiday until May. =>
My teacher was strict about commas. =>
My sister Oddný works as a pilot. => sister = Oddný; ?@Oddný works_as = a pilot
My brother-in-law Stefan is a plumber. => brother-in-law = Stefan; ?@Stefan works_as = a plumber
Our daughter Paloma starts school in August. => daughter = Paloma
Our neighbour Gunnar mows his lawn at six in the morning. => ?neighbour = Gunnar
Our son is five. => ?@The user's son age = five
My nephew is 12 years old. => @The user's nephew age = 12
I have one sister and four cousins. => ?number_of_sisters = one; ?number_of_cousins = four; ?sister = one
I have two sons. => number_of_sons = two
I have two problems with this answer. =>
I have a dog named Waffles. => dog = Waffles
We adopted a cat from the shelter. => has_pet = a cat
I have three cats and zero free time. => has_pet = three cats
My cat is called Professor Purr. => cat = Professor Purr
My cat threw up on the rug. =>
I have a kayak in the garage. => owns = a kayak
I have a house in Sintra. => owns = a house in Sintra | a house
I have a car but I rarely use it. => owns = a car
I have a feeling that we forgot something. =>
I own a bookshop in Galway. => ?owns = a bookshop in Galway; ?owns = a bookshop
I drive an old Volvo 240. => owns = an old Volvo 240
I ride a Brompton to the office. => ?owns = a Brompton; ?owns = a Brompton to the office
I love hiking in the Dolomites. => likes = hiking in the Dolomites
I love dark roast and hate decaf. => likes = dark roast; dislikes = decaf
I love that for you. =>
I like long walks, cheap wine and old maps. => likes = long walks; likes = cheap wine; likes = old maps
I like both options. =>
I like tea better than coffee. => ?likes = tea; ?prefers = tea to coffee; ?likes = tea better than coffee
I like the second draft more. =>
I really like Vangelis. => likes = Vangelis
I enjoy cooking for friends. => likes = cooking for friends
I enjoyed the concert last night. =>
I'm fond of jigsaw puzzles. => likes = jigsaw puzzles
I'm into bouldering lately. => ?likes = bouldering
I'm crazy about mangoes. => likes = mangoes
I'm crazy to even ask this. =>
I hate flying at night. => dislikes = flying at night
I hate Mondays. => ?dislikes = Mondays
I hate my job. => ?dislikes = my job; ?dislikes = their job
I detest marzipan. => dislikes = marzipan
I can't stand karaoke. => dislikes = karaoke
I can't stand up without my back hurting. =>
I don't like horror films. => dislikes = horror films
I don't like it when people are late. =>
I don't enjoy crowds. => dislikes = crowds
I prefer tea. => prefers = tea
I prefer working late. => prefers = working late
I prefer Celsius, please. => prefers = Celsius
My favourite film is Stalker. => favourite_film = Stalker
My favourite films are Stalker and Solaris. => ?favourite_films = Stalker; ?favourite_films = Solaris;
    ?favourite_films = Stalker and Solaris; ?favourite_film = Stalker; ?favourite_film = Solaris
My all-time favourite footballer is Zidane. => favourite_footballer = Zidane
My favourite thing about Lisbon is the light. => ?favourite_thing_about_Lisbon = the light;
    ?favourite_thing_about_lisbon = the light
My least favourite subject was Latin. =>
I'm allergic to ibuprofen. => allergic_to = ibuprofen
I'm mildly allergic to cats and dust. => allergic_to = cats; allergic_to = dust
I have a peanut allergy. => allergic_to = peanut | peanuts
My roommate is allergic to gluten. => ?@The user's roommate allergic_to = gluten
I'm lactose intolerant. => intolerant_to = lactose
I'm vegan. => diet = vegan
I'm not vegan, just picky. => !diet = vegan
I've been vegan for six years now. => diet = vegan
I became a vegetarian in 2012. => diet = vegetarian
I have asthma. => has_condition = asthma
I have epilepsy and take 500 mg of levetiracetam twice a day. => has_condition = epilepsy;
    ?dose_of_levetiracetam = 500 mg
I'm on 40 mg of fluoxetine. => dose_of_fluoxetine = 40 mg
I take 20 minutes to get ready. =>
I'm 47. => age = 47
I'm 47 minutes late. =>
I turned 65 last week. => age = 65
I turned sixty-one on Sunday. => age = sixty-one
I turned thirty chairs into a stage set. =>
My age is none of your business. =>
I was born on 8 May 1990. => birthday = 8 May 1990
My birthday is in June. => ?birthday = June; ?birthday = in June
My birthday is July 21st. => birthday = July 21st
I'm married to Akosua. => partner = Akosua; ?marital_status = married; ?wife = Akosua
I'm single. => marital_status = single
I'm single-handedly fixing this. =>
I weigh 82 kg. => weight = 82 kg
I'm 1.65 m tall. => height = 1.65 m
I speak Hausa, English and some Arabic. => speaks = Hausa; speaks = English; speaks = Arabic
I speak for everyone here. =>
I'm fluent in Finnish. => speaks = Finnish
I don't speak Spanish. => !speaks = Spanish
I play the oboe. => plays = the oboe
I play tennis on Saturdays. => ?plays = tennis; ?habit = play tennis on Saturdays
I play a lot of chess online. => ?plays = chess; ?plays = a lot of chess online
I played the violin as a child. => ~plays = the violin
I played the video twice. =>
I run twice a week. => habit = run twice a week
I run a bakery twice the size of yours. =>
I swim every morning before work. => habit = swim every morning before work | swim every morning
I read every night. => habit = read every night
I read every word of your answer. =>
I walk the dog three times a day. => habit = walk the dog three times a day
I drink green tea every afternoon. => habit = drink green tea every afternoon
I write on Sundays. => habit = write on Sundays
I call my mother every Sunday. => habit = call my mother every Sunday | calls their mother every Sunday | call
    their mother every Sunday
I'm planning to learn sailing. => plans = learn sailing
I'm planning a trip to Georgia in May. => plans = a trip to Georgia | a trip to Georgia in May
I plan to sell the house next year. => plans = sell the house next year
I'm going to visit my aunt in Turku. => plans = visit my aunt in Turku | visit their aunt in Turku
I'll visit the link later. => ?plans = visit the link later
I'll buy you a coffee. =>
I will graduate in June. => plans = graduate in June
I decided to quit smoking. => plans = quit smoking
I decided to go with option two. => ?plans = go with option two
We decided to postpone. =>
My phone number is +47 412 55 019. => phone = +47 412 55 019
My email address is mo@example.com. => email = mo@example.com
My rent is 900 pounds a month. => rent = 900 pounds a month
My shoe size is 42. => shoe_size = 42
My blood type is AB negative. => blood_type = AB negative
My locker number is 318. => ?locker_number = 318
My passport expires in October. =>
My train leaves at 7:12. =>
My seat is 14C. => ?seat = 14C
My nickname is Dodo. => nickname = Dodo
My hometown is Tartu. => home_town = Tartu
My pronouns are they/them. => pronouns = they/them
My time zone is CET. => time_zone = CET
My mother tongue is Slovene. => mother_tongue = Slovene | native_language = Slovene
My grandmother's name is Concepción. => grandmother = Concepción
My goal is to run a marathon. => ?goal = run a marathon; ?plans = run a marathon
I used to smoke. => ?~habit = smoke
I used to live in Havana. => ~lives_in = Havana
I used to have a parrot. => ~has_pet = a parrot
I no longer drive. => ?!drives = drive
I stopped eating meat. => ?!eats = meat; ?diet = vegetarian
I gave up my allotment. => ?!owns = allotment; ?!owns = my allotment
I don't have a car. => ?!owns = a car
Translate into German: I live in Porto and I love fado. =>
Please rewrite this email: I am a nurse at Acme and I want a raise. =>
Draft a tweet: my cat is called Loki. =>
Remember this: I am allergic to bees. => ?allergic_to = bees
For the record: I live in Tampere. => ?lives_in = Tampere
My friend says I live in chaos. =>
People think I'm a doctor. =>
I told her I live in Oslo. =>
I wish I spoke Italian. =>
If I had a dog I'd call it Rex. =>
In my novel the hero says I am a spy. =>
She is a nurse at Acme. =>
He loves jazz. =>
You live in the cloud, I assume. =>
It lives in the src folder. =>
They play every Sunday. =>
NOTE: Kwame works at Ecobank and speaks Twi. => @Kwame works_at = Ecobank; @Kwame speaks = Twi
NOTE: Berlin is cold in January. =>
NOTE: Lucía's birthday is 12 April. => @Lucía birthday = 12 April
NOTE: Ingrid plays the viola and lives in Ghent. => @Ingrid plays = the viola; @Ingrid lives_in = Ghent
NOTE: Fatima loves crosswords. => @Fatima likes = crosswords
NOTE: Deploy works as expected. =>
NOTE: April is busy. =>
"""
"""Written and labelled after the rules were corrected with the texts above, before they were run on these."""
