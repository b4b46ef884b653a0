-- Alerts, as all nodes see them. New tables only: no lock on any other.

-- One row per endpoint or subscription and kind, kept when cleared. Raised: raised_at is set and cleared_at is not.
create table alerts (
  subject_id text collate "C" not null,
  kind text not null,
  project_id text collate "C" not null,
  -- the project version that made this state known to nodes
  version bigint not null,
  raised_at timestamptz not null,
  cleared_at timestamptz,
  primary key (subject_id, kind)
);
create index alerts_version on alerts (project_id, version);

-- Failed attempts of subscriptions that have an alert_config and no raised alert, counted in steps of a hundredth of
-- its threshold.
create table alert_failures (
  subscription_id text collate "C" not null,
  at timestamptz not null,
  project_id text collate "C" not null,
  failures integer not null,
  primary key (subscription_id, at)
);
create index alert_failures_at on alert_failures (at);
