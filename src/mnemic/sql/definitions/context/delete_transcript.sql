-- A session that is deleted takes with it what the proxy stored of its transcript. There is no foreign key, because
-- the transcript begins before the window of the session is first saved.
CREATE OR REPLACE FUNCTION mnemic.delete_transcript() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM state.context_transcripts
    WHERE tenant_id = OLD.tenant_id AND owner = OLD.owner AND session = OLD.session;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER delete_transcript AFTER DELETE ON state.context_sessions FOR EACH ROW
EXECUTE FUNCTION mnemic.delete_transcript();
