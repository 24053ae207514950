"""Mara, who talks to an assistant for a year: she moves, changes her job, runs a race and plans a journey."""

from mnemic.cli.story.parts import Conversation, Entity, Goal, Note, Story, dialogue

NAME = "Mara"

CONVERSATIONS = (
    Conversation(
        "hello",
        364,
        dialogue(
            NAME,
            ("Hi! I'm Mara. I live in Gothenburg and I work at Halden Studio.", "Nice to meet you, Mara."),
            ("I'm a ceramicist, mostly tableware for restaurants.", "That sounds like careful work."),
            ("We have a cat, Pixel, who sits on everything that is warm.", "Even on the kiln?"),
            ("Only when it is off. I am allergic to cashews, please keep that in mind.", "I will."),
        ),
    ),
    Conversation(
        "tomas and the letter",
        351,
        dialogue(
            NAME,
            ("My partner Tomas got an offer from the university in Leipzig.", "Would you move with him?"),
            ("I think so. He would start in the spring.", "What would you need there?"),
            ("A studio with a kiln, and a flat where Pixel can look at birds.", "I will remember both."),
        ),
    ),
    Conversation(
        "winter market",
        338,
        dialogue(
            NAME,
            ("The winter market went well, I sold 84 bowls.", "Congratulations! Which glaze sold best?"),
            ("The blue one, again. My favourite colour is blue, so I do not mind.", "A good match."),
        ),
    ),
    Conversation(
        "new year",
        322,
        dialogue(
            NAME,
            ("I want to run the half marathon in Leipzig this autumn.", "Shall I make a training plan?"),
            ("Yes, three runs a week, never on Mondays: that is kiln day.", "Three runs, Mondays free."),
        ),
    ),
    Conversation(
        "flat hunting",
        300,
        dialogue(
            NAME,
            ("We looked at four flats in Leipzig. The one in Plagwitz has a balcony.", "And the others?"),
            ("Too dark. We applied for Plagwitz, the rent is 1,140 euros.", "I hope you get it."),
            ("Dorte, the landlady, loves cats, so we are hopeful.", "That helps."),
        ),
    ),
    Conversation(
        "moving day",
        276,
        dialogue(
            NAME,
            ("We moved to Leipzig yesterday. Everything is in boxes.", "Welcome to Leipzig!"),
            ("Pixel spent the night in the oven drawer. She is fine.", "Brave Pixel."),
            ("The internet comes on the 3rd, until then I only have my phone.", "I will keep answers short."),
        ),
    ),
    Conversation(
        "looking for work",
        251,
        dialogue(
            NAME,
            (
                "Halden Studio wants me to stay on from afar, but shipping clay is silly.",
                "What else is there?",
            ),
            ("I wrote to Osterwerk. They teach and they have two big kilns.", "Good luck!"),
        ),
    ),
    Conversation(
        "a new job",
        230,
        dialogue(
            NAME,
            ("I work at Osterwerk now! I start with the beginners' course.", "Congratulations, Mara!"),
            ("Yusuf runs the place. He also makes the best lentil soup in town.", "Noted, for both."),
            ("My salary goes up by a fifth, so Porto is possible this year.", "Shall I watch the fares?"),
        ),
    ),
    Conversation(
        "easter",
        205,
        dialogue(
            NAME,
            ("My sister Ebba visits over Easter. She is vegan.", "Shall I suggest a menu without cashews?"),
            (
                "Please. She likes mushrooms and I like everything sour.",
                "Mushroom pierogi with pickled beets?",
            ),
            ("Perfect. Ebba's birthday is on the 14th of April, by the way.", "I will remind you."),
        ),
    ),
    Conversation(
        "the dentist",
        188,
        dialogue(
            NAME,
            ("I need a dentist here. Tomas goes to Dr. Amari in Lindenau.", "Shall I note Dr. Amari?"),
            (
                "Yes. My appointment is in two weeks at half past eight.",
                "Half past eight, I will remind you.",
            ),
        ),
    ),
    Conversation(
        "knee",
        170,
        dialogue(
            NAME,
            ("My knee hurts after long runs.", "How long are they now?"),
            ("Fourteen kilometres. The physiotherapist is called Lene.", "Fewer hills for two weeks?"),
            ("Lene said the same: flat routes along the canal, and no stairs.", "I changed the plan."),
        ),
    ),
    Conversation(
        "porto",
        149,
        dialogue(
            NAME,
            ("We booked Porto: the last week of September, by train to Paris and on from there.", "Lovely."),
            (
                "The flat is near the river, with a kitchen. It costs 640 euros for the week.",
                "A kitchen by the river!",
            ),
            ("I want to see the tile museum and buy nothing heavy.", "I will remind you of the second part."),
        ),
    ),
    Conversation(
        "summer course",
        133,
        dialogue(
            NAME,
            ("The summer course is full: twelve people, two of them from Halle.", "That was quick."),
            ("I prefer small groups, ten would be better.", "I will suggest ten for the autumn."),
        ),
    ),
    Conversation(
        "accordion",
        112,
        dialogue(
            NAME,
            (
                "I started to learn the accordion. Our neighbour Ilse lends me hers.",
                "How does Pixel like it?",
            ),
            (
                "She leaves the room with dignity. I practise on Thursdays at seven.",
                "Thursdays at seven it is.",
            ),
        ),
    ),
    Conversation(
        "kiln trouble",
        95,
        dialogue(
            NAME,
            ("The small kiln at Osterwerk stops at 900 degrees.", "Was the thermocouple changed lately?"),
            ("In March. Yusuf thinks it is the relay.", "The manual lists relay faults under code E3."),
            ("It was the relay. Fourteen euros and an afternoon.", "Well done, both of you."),
        ),
    ),
    Conversation(
        "race",
        74,
        dialogue(
            NAME,
            ("I ran the half marathon in 2:04:31! The knee held.", "Congratulations! Faster than planned."),
            (
                "Lene was at the finish with a banana. Next year I want to stay below two hours.",
                "Below two hours: that is a goal.",
            ),
        ),
    ),
    Conversation(
        "back from porto",
        52,
        dialogue(
            NAME,
            ("Porto was wonderful. I bought eleven tiles. They are heavy.", "I did remind you."),
            (
                "Tomas carried them. We want to go again in May, and to Coimbra.",
                "I will look at trains for May.",
            ),
        ),
    ),
    Conversation(
        "coffee",
        31,
        dialogue(
            NAME,
            ("I drink coffee without milk now, the doctor said to try.", "Since when?"),
            ("For two weeks. I sleep better, which surprises me.", "I will leave the milk off the list."),
        ),
    ),
    Conversation(
        "exhibition",
        16,
        dialogue(
            NAME,
            ("The gallery in Connewitz shows eight of my bowls from December on.", "Which ones?"),
            ("The blue series. Opening is at seven on the first Friday.", "Shall I write the invitations?"),
            ("Yes, to Ebba, Yusuf, Lene, Ilse and Dorte.", "Five invitations, ready to read."),
        ),
    ),
    Conversation(
        "moving again",
        6,
        dialogue(
            NAME,
            ("Dorte sells the house. We moved to Lindenau, two streets from Dr. Amari.", "So soon!"),
            ("It has a room for the accordion. Pixel found the warm pipe at once.", "Of course she did."),
        ),
    ),
    Conversation(
        "this week",
        2,
        dialogue(
            NAME,
            (
                "I work at Kiln and Canal from January on, Yusuf and I open our own studio.",
                "That is big news!",
            ),
            ("We signed for the old dairy. The rent is 890 euros.", "Shall I start a list of what it needs?"),
            ("Two kilns, six wheels and a sign that Ebba paints.", "The list is in your goals."),
        ),
    ),
)
NOTES = (
    Note("The price of a blue bowl is 38 euros.", 330, "factual", ("studio", "money")),
    Note("The price of a blue bowl is 42 euros.", 64, "factual", ("studio", "money")),
    Note("The rent of the old dairy is 920 euros.", 9, "factual", ("studio", "money")),
    Note("The rent of the old dairy is 890 euros.", 2, "factual", ("studio", "money")),
    Note("Pixel sleeps on the warm pipe.", 5, "factual", ("pixel",)),
    Note("Pixel sleeps on the warm pipe in the hall.", 3, "factual", ("pixel",)),
    Note("Tomas takes the tram to the institute.", 240, "behavioral", ("family",), 0.9),
    Note("Tomas takes the tram to the institute in the morning.", 200, "behavioral", ("family",), 1.0),
    Note("Mara prefers answers of at most three sentences.", 340, "preference", ("style",), 1.0),
    Note(
        "Mara answers messages in the morning, before the studio opens.", 310, "behavioral", ("style",), 0.8
    ),
    Note(
        "To glaze a bowl: sieve twice, dip for three seconds, wait a day, fire at 1,220 degrees.",
        290,
        "procedural",
        ("studio",),
        1.0,
    ),
    Note(
        "To glaze a bowl: sieve twice, dip for four seconds, wait a day, fire at 1,220 degrees.",
        120,
        "procedural",
        ("studio",),
        1.0,
    ),
    Note(
        "The rent of the flat in Plagwitz is 1,140 euros.",
        275,
        "factual",
        (
            "home",
            "money",
        ),
        1.0,
    ),
    Note(
        "The rent of the flat in Plagwitz is 1,195 euros.",
        90,
        "factual",
        (
            "home",
            "money",
        ),
        1.0,
    ),
    Note("Mara may be interested in a wheel for the balcony.", 262, "factual", ("studio",), 0.3),
    Note("Tomas possibly plays chess on Sundays.", 258, "factual", ("family",), 0.4),
    Note("Call Dr. Amari about the appointment of next year.", 20, "prospective", ("health",), 1.0),
    Note("Water the plants at Ilse's while she is in Graz.", 12, "prospective", ("neighbours",), 1.0),
    Note("Mara is allergic to cashews.", 350, "factual", ("health",), 1.0),
    Note("Mara is allergic to cashew nuts.", 80, "factual", ("health",), 0.9),
    Note("Mara's shoe size is 39.", 200, "factual", (), 0.9),
    Note("Mara ran the half marathon of Leipzig in 2:04:31.", 73, "episodic", ("running",), 1.0),
    Note(
        "Ebba is vegan and likes mushrooms.",
        204,
        "preference",
        (
            "family",
            "food",
        ),
        1.0,
    ),
    Note("Pixel's vaccination is due every February.", 150, "prospective", ("pixel",), 1.0),
    Note(
        "The opening in Connewitz is at seven on the first Friday of December.",
        15,
        "prospective",
        ("exhibition",),
        1.0,
    ),
)
# Only Mara changes them.
ANCHORED = ("Mara never wants her address given to strangers.", "Never suggest food with cashews to Mara.")
GOALS = (
    Goal("Open the studio in the old dairy in January", 9),
    Goal("Buy two kilns and six wheels", 8, 0),
    Goal("Register the business with Yusuf", 7, 0),
    Goal("Run a half marathon below two hours", 5),
    Goal("Visit Porto and Coimbra in May", 4),
)
ENTITIES = (
    Entity("person", "Mara", {"profession": "ceramicist", "city": "Gothenburg"}, ("Mara Lindqvist",)),
    Entity("person", "Tomas", {"profession": "hydrologist", "city": "Leipzig"}, ()),
    Entity("person", "Ebba", {"diet": "vegan", "birthday": "14 April"}, ()),
    Entity("person", "Yusuf", {"speciality": "lentil soup"}, ()),
    Entity("person", "Lene", {"profession": "physiotherapist"}, ()),
    Entity("person", "Ilse", {"instrument": "accordion"}, ()),
    Entity("person", "Dorte", {"role": "landlady"}, ()),
    Entity("person", "Dr. Amari", {"profession": "dentist"}, ("Amari",)),
    Entity("animal", "Pixel", {"species": "cat"}, ()),
    Entity("organisation", "Osterwerk", {"kilns": 2, "city": "Leipzig"}, ()),
    Entity("organisation", "Halden Studio", {"city": "Gothenburg"}, ("Halden",)),
    Entity("organisation", "Kiln and Canal", {"place": "the old dairy"}, ()),
    Entity("place", "Leipzig", {"country": "Germany"}, ()),
    Entity("place", "Gothenburg", {"country": "Sweden"}, ()),
    Entity("place", "Plagwitz", {"part of": "Leipzig"}, ()),
    Entity("place", "Lindenau", {"part of": "Leipzig"}, ()),
    Entity("place", "Porto", {"country": "Portugal"}, ()),
)
RELATIONS = (
    ("Mara", "partner of", "Tomas"),
    ("Mara", "sister of", "Ebba"),
    ("Mara", "owns", "Pixel"),
    ("Mara", "worked at", "Halden Studio"),
    ("Mara", "works at", "Osterwerk"),
    ("Mara", "founds", "Kiln and Canal"),
    ("Yusuf", "founds", "Kiln and Canal"),
    ("Yusuf", "runs", "Osterwerk"),
    ("Ilse", "neighbour of", "Mara"),
    ("Lene", "treats", "Mara"),
    ("Dr. Amari", "treats", "Tomas"),
    ("Dr. Amari", "has a practice in", "Lindenau"),
    ("Dorte", "rented to", "Mara"),
    ("Osterwerk", "is in", "Leipzig"),
    ("Halden Studio", "is in", "Gothenburg"),
    ("Kiln and Canal", "is in", "Lindenau"),
    ("Plagwitz", "part of", "Leipzig"),
    ("Lindenau", "part of", "Leipzig"),
    ("Mara", "travelled to", "Porto"),
    ("Tomas", "travelled to", "Porto"),
)
CHANGED_FACTS = (
    ("Mara", "city", "Leipzig"),
    ("Yusuf", "speciality", "kiln repair"),
)
QUESTIONS = (
    "Where does Mara live?",
    "What is Mara allergic to?",
    "Where does Mara work?",
    "Who is the dentist?",
    "How fast did Mara run the half marathon?",
    "What does Ebba eat?",
    "When does Mara practise the accordion?",
    "What did Mara buy in Porto?",
    "What was wrong with the small kiln?",
    "Which football club does Mara support?",
    "What is the password of the wireless network?",
    "Who won the chess tournament in Oslo?",
)

MARA = Story(
    owner="mara",
    conversations=CONVERSATIONS,
    notes=NOTES,
    anchored=ANCHORED,
    entities=ENTITIES,
    relations=RELATIONS,
    changed_facts=CHANGED_FACTS,
    goals=GOALS,
    questions=QUESTIONS,
    corrections=(
        (
            "Mara's shoe size is 39.",
            "Mara's shoe size is 38, and 39 for running shoes.",
            "she said so in the shop",
        ),
        (
            "Pixel's vaccination is due every February.",
            "Pixel's vaccination is due every March.",
            "the vet moved it",
        ),
    ),
    forgotten=(("Water the plants at Ilse's while she is in Graz.", "Ilse is back"),),
)
