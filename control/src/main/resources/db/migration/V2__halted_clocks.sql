-- What is left of a timeout while its clock stands still (paused, stopped); NULL while it runs, and
-- without a timeout. expires_at is NULL meanwhile.
ALTER TABLE sandboxes ADD COLUMN remaining_millis BIGINT;
