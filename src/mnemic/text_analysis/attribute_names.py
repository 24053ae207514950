"""Names of the attributes that the rules recognise in statements."""

FAVOURITE_PREFIX = "favourite_"
"""Each favourite is an attribute of its own: favourite_colour, favourite_film."""
DOSE_PREFIX = "dose_of_"
"""Each medicine has a dose of its own."""

_SINGLE_VALUED_TEXT = """
name full_name nickname pronouns gender nationality lives_in home_town born_in works_at works_as studies_at
job employer occupation
birthday age marital_status spouse husband wife partner fiancé fiancée boyfriend girlfriend mother father
boss manager landlord height weight phone email address blood_type shoe_size timezone native_language diet
zodiac_sign
"""
SINGLE_VALUED_ATTRIBUTES = frozenset(_SINGLE_VALUED_TEXT.split())
"""Attributes of which a person has one value at a time."""
