-- Windows of sources stand beside those of projects: the id of either names the row. Only names change; the table is
-- locked for that moment.
alter table project_windows rename to intake_windows;
alter table intake_windows rename column project_id to key;
alter index project_windows_pkey rename to intake_windows_pkey;
