"""Words and pieces of patterns with which `self_statements` reads."""

_RELATIVES_TEXT = """
husband wife spouse partner fiancé fiancée boyfriend girlfriend mother mum mom father dad son daughter
brother sister twin grandmother grandma grandfather grandpa aunt uncle cousin niece nephew stepmother
stepfather stepson stepdaughter stepbrother stepsister mother-in-law father-in-law brother-in-law
sister-in-law son-in-law daughter-in-law grandson granddaughter godmother godfather godson goddaughter
roommate flatmate housemate neighbour neighbor boss manager supervisor mentor colleague coworker assistant
landlord landlady teacher tutor coach doctor dentist therapist lawyer accountant nanny babysitter friend
"""
_PETS_TEXT = "dog cat puppy kitten rabbit hamster parrot horse pony tortoise turtle goldfish guinea-pig"
RELATIVES = frozenset(_RELATIVES_TEXT.split())
PETS = frozenset(_PETS_TEXT.split())

RELATIVE_NAMES: dict[str, str] = {
    "mum": "mother",
    "mom": "mother",
    "dad": "father",
    "grandma": "grandmother",
    "grandpa": "grandfather",
    "neighbor": "neighbour",
    "puppy": "dog",
    "kitten": "cat",
    "kids": "children",
}
"""The attribute for a relation that has several words."""

_OCCUPATIONS_TEXT = """
accountant actor actress architect artist astronomer attorney author baker banker barber barista biologist
bookkeeper bricklayer builder bus-driver butcher carpenter cashier chef chemist cleaner coach composer
consultant contractor cook copywriter curator dancer dentist designer developer dietitian director doctor
driver economist editor electrician engineer estate-agent farmer filmmaker firefighter fisherman florist
freelancer gardener geologist graphic-designer hairdresser historian illustrator interpreter jeweller
journalist judge lawyer lecturer librarian lifeguard linguist locksmith machinist manager mathematician
mechanic midwife miner model musician nanny novelist nurse nutritionist optician painter paralegal paramedic
pharmacist philosopher photographer physicist physiotherapist pilot plumber podiatrist poet policeman
policewoman police-officer politician postman potter programmer producer professor psychiatrist psychologist
radiologist realtor receptionist recruiter researcher sailor salesman saleswoman salesperson scientist
sculptor secretary singer social-worker software-engineer soldier solicitor statistician strategist student
surgeon surveyor tailor teacher technician therapist tour-guide trader trainer translator tutor undertaker
urologist vet veterinarian waiter waitress welder writer zookeeper analyst administrator officer supervisor
"""
OCCUPATIONS = frozenset(_OCCUPATIONS_TEXT.split())
"""The last word of a title; titles of two words are joined by a hyphen."""

_JUDGING_TEXT = """
amateur aspiring awful bad born budding decent enthusiastic excellent failed fast former frustrated good great
happy hobby horrible keen lazy lousy mediocre natural nervous passionate poor retired secret slow terrible
terrific wannabe would-be
"""
JUDGING_WORDS = frozenset(_JUDGING_TEXT.split())
"""Words before a title that make it a quality, a wish or the past: "a terrible cook"."""

_CONDITIONS_TEXT = """
asthma diabetes epilepsy anaemia anemia arthritis eczema psoriasis adhd autism dyslexia tinnitus glaucoma
hypertension hypothyroidism hyperthyroidism migraines endometriosis lupus eczema narcolepsy insomnia celiac
coeliac crohn's ibs pcos ms scoliosis osteoporosis hepatitis gout fibromyalgia
"""
CONDITIONS = frozenset(_CONDITIONS_TEXT.split())

_LANGUAGES_TEXT = """
Afrikaans Albanian Amharic Arabic Armenian Azerbaijani Basque Belarusian Bengali Bosnian Bulgarian Burmese
Cantonese Catalan Croatian Czech Danish Dutch English Esperanto Estonian Farsi Finnish Flemish French Gaelic
Galician Georgian German Greek Gujarati Hausa Hebrew Hindi Hungarian Icelandic Igbo Indonesian Irish Italian
Japanese Kannada Kazakh Khmer Korean Kurdish Lao Latin Latvian Lithuanian Luxembourgish Macedonian Malay
Malayalam Maltese Mandarin Maori Marathi Mongolian Nepali Norwegian Pashto Persian Polish Portuguese Punjabi
Quechua Romanian Russian Scots Serbian Shona Sinhala Slovak Slovene Slovenian Somali Spanish Swahili Swedish
Tagalog Tamil Telugu Thai Tibetan Tigrinya Turkish Twi Ukrainian Urdu Uzbek Vietnamese Welsh Wolof Xhosa
Yiddish Yoruba Zulu
"""
LANGUAGES = frozenset(_LANGUAGES_TEXT.split())

_POSSESSIONS_TEXT = """
car van truck motorbike motorcycle scooter bike bicycle boat yacht house flat apartment cottage cabin garden
allotment piano guitar violin cello drum-kit ukulele laptop camera telescope caravan tent kayak farm
restaurant bakery shop café website blog podcast
"""
POSSESSIONS = frozenset(_POSSESSIONS_TEXT.replace("-", " ").split()) - {"kit", "drum"}

_PLAN_VERBS_TEXT = """
visit travel fly move attend marry retire adopt graduate study volunteer host buy sell emigrate enrol enroll
"""
PLAN_VERBS = frozenset(_PLAN_VERBS_TEXT.split())

_HABIT_VERBS_TEXT = """
attend bake bike call clean climb cook cycle dance drink drive eat exercise fast go hike jog journal listen
meditate meet paint play practice practise pray read ride run sing skate ski sleep stretch surf swim teach
train visit volunteer walk watch work write
"""
HABIT_VERBS = frozenset((*_HABIT_VERBS_TEXT.split(), "get up", "wake up", "work out", "go out"))
"""Verbs of habits. Others, such as "see", "get" and "have", say too little without more."""

_CALENDAR_TEXT = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
september october november december christmas easter
"""
CALENDAR = frozenset(_CALENDAR_TEXT.split())

_NO_VALUE_TEXT = """
then it that this these those you your yours him her them they he she us one ones here there what how when why
where who which whatever something anything everything nothing someone anyone everyone so much way idea
sound looks look thought part fact point person guy people thing things lot bit both all either neither
"""
NO_VALUE_WORDS = frozenset(_NO_VALUE_TEXT.split())
"""Words that make a value depend on what was said before."""

_MONTHS = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    "|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
DATE = (
    rf"(?:the )?(?:{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTHS}(?:,? \d{{4}})?"
    r"|\d{4}-\d{2}-\d{2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4})"
)
"""A date as people give birthdays."""

_UPPER = "A-ZÀ-ÖØ-Þ"
_NAME_WORD = rf"[{_UPPER}](?:[\w.&-]|['’](?!s\b)(?=\w)){{0,40}}"
PROPER = rf"{_NAME_WORD}(?: (?:(?:of|the|de|la|le|del|van|von|and|&|y|upon|on) ){{0,2}}{_NAME_WORD}){{0,4}}"
"""A proper name of up to five capitalised words."""
PERSON = rf"{_NAME_WORD}(?: {_NAME_WORD}){{0,2}}"
PLACE = rf"{PROPER}(?:, {_NAME_WORD}(?: {_NAME_WORD}){{0,2}})?"
NUMBER = r"(?:\d{1,3}(?:[,.]\d{3}){0,4}(?:\.\d{1,4})?|\d{1,12}(?:[.,]\d{1,4})?)"
COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten|\d{1,2})"
_TENS = "(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
AGE = rf"(?:eighteen|nineteen|{_TENS}(?:-(?:one|two|three|four|five|six|seven|eight|nine))?)"
"""An age in words, of adults."""
_DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_PART = "(?:morning|afternoon|evening|night)"
OFTEN = (
    rf"(?:every|each) (?:other |second )?(?:day|{_PART}|week|weekday|weekend|month|year|spring|summer|autumn"
    rf"|winter|{_DAY}(?: {_PART})?)s?|on {_DAY}s(?:(?:,|,? and) {_DAY}s){{0,4}}|on (?:weekdays|weekends)"
    r"|(?:once|twice|(?:two|three|four|five|six|\d) times) (?:a|per) (?:day|week|month|year)"
)
"""How often something is done."""
