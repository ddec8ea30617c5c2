-- Runs on SQLite and on PostgreSQL. Instants are milliseconds since 1970 (UTC).

CREATE TABLE organizations (
  id BIGINT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE accounts (
  id BIGINT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE memberships (
  organization_id BIGINT NOT NULL REFERENCES organizations (id),
  account_id BIGINT NOT NULL REFERENCES accounts (id),
  role TEXT NOT NULL,
  PRIMARY KEY (organization_id, account_id)
);

-- The id is the public part of a key; of the key itself only a digest is kept.
CREATE TABLE api_keys (
  id TEXT NOT NULL PRIMARY KEY,
  organization_id BIGINT NOT NULL REFERENCES organizations (id),
  account_id BIGINT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  bootstrap BOOLEAN NOT NULL,
  digest TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);

CREATE TABLE sandboxes (
  id TEXT NOT NULL PRIMARY KEY,
  organization_id BIGINT NOT NULL REFERENCES organizations (id),
  status TEXT NOT NULL,
  template_id TEXT NOT NULL,
  template_name TEXT NOT NULL,
  template_digest TEXT NOT NULL,
  node_id TEXT NOT NULL,
  region TEXT NOT NULL,
  vcpus INTEGER NOT NULL,
  memory_mib INTEGER NOT NULL,
  disk_mib INTEGER NOT NULL,
  processes INTEGER NOT NULL,
  internet_access BOOLEAN NOT NULL,
  isolation TEXT,
  environment TEXT NOT NULL,
  metadata TEXT NOT NULL,
  agent_port INTEGER UNIQUE,
  public_host TEXT,
  timeout_seconds BIGINT,
  expires_at BIGINT,
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  ended_at BIGINT,
  end_reason TEXT,
  updated_at BIGINT NOT NULL
);

CREATE INDEX sandboxes_newest_first ON sandboxes (organization_id, created_at, id);
CREATE INDEX sandboxes_by_status ON sandboxes (status);
CREATE INDEX sandboxes_by_expiry ON sandboxes (expires_at);

-- Answers of creations that were asked for with an Idempotency-Key. The token of an answer is not
-- kept; it is signed again from its id.
CREATE TABLE idempotency_keys (
  organization_id BIGINT NOT NULL REFERENCES organizations (id),
  idempotency_key TEXT NOT NULL,
  body_digest TEXT NOT NULL,
  sandbox_id TEXT NOT NULL,
  answer TEXT NOT NULL,
  token_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organization_id, idempotency_key)
);

CREATE INDEX idempotency_keys_by_sandbox ON idempotency_keys (sandbox_id);
