-- stage: before tables
-- Entities (people, projects, products …), what is known about them and how they hang together; the
-- memories that mention them; and statements as subject, predicate, object.
--
-- An entity belongs to an owner and is known by its category and name, whatever their upper and lower
-- case. Its life: it comes into being by the first upsert, is added to by the later ones, and is
-- deleted into `archived_entities`, from where it can be restored with its id and all that still can be.
-- Writers that add to one entity queue on its row; so there is one row, and no fact is lost.

-- A name as it is compared: one blank where there were several, one form of each character, lower case.
CREATE OR REPLACE FUNCTION mnemic.name_key(name text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN lower(btrim(regexp_replace(normalize(name, NFKC), '\s+', ' ', 'g')));
