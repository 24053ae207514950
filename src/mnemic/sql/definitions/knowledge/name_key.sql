-- stage: before tables
-- needs: knowledge/fold
-- A name in the form in which names are compared: single spaces, NFKC, lower case.
CREATE OR REPLACE FUNCTION mnemic.name_key(name text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN mnemic.fold(btrim(regexp_replace(normalize(name, NFKC), '\s+', ' ', 'g')));
