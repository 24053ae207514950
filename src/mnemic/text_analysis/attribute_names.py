"""Names of the attributes that the rules recognise in statements."""

FAVOURITE_PREFIX = "favourite_"
"""Each favourite is an attribute of its own: favourite_colour, favourite_film."""
DOSE_PREFIX = "dose_of_"
"""Each medicine has a dose of its own."""
COUNT_PREFIX = "number_of_"

_SINGLE_VALUED_TEXT = """
name full_name surname nickname username login handle pronouns gender nationality citizenship religion
lives_in address hometown home_town birthplace born_in birthday birthdate age height weight blood_type
shoe_size star_sign zodiac_sign diet native_language works_at works_as studies_at job employer occupation
profession salary income marital_status spouse husband wife partner fiancé fiancée boyfriend girlfriend
mother father boss manager supervisor mentor landlord landlady tenant doctor dentist therapist gp lawyer
accountant coach assignee reviewer sponsor phone email extension password passcode passphrase pin code key
url port host branch version timezone time_zone rent mortgage price cost fee budget rate balance deadline
status stage phase priority severity capital capacity currency population continent headquarters headquarter
temperature maximum minimum limit quota target default gate platform desk room floor author creator founder
inventor designer composer director producer developer manufacturer maker publisher broadcaster provider
supplier carrier owner insurer maintainer lead leader head chair chairperson chairman chairwoman president
chancellor minister mayor governor king queen pope ceo cto cfo chief captain officer successor predecessor
"""
SINGLE_VALUED_ATTRIBUTES = frozenset(_SINGLE_VALUED_TEXT.split())
"""Attributes of which a person or a thing has one value at a time."""


def has_one_value(attribute: str) -> bool:
    """Whether a subject has one value of the attribute at a time."""
    return attribute in SINGLE_VALUED_ATTRIBUTES or attribute.startswith(
        (FAVOURITE_PREFIX, DOSE_PREFIX, COUNT_PREFIX)
    )
