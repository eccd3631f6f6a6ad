alter table runs add column notes jsonb not null default '{}';
comment on column runs.notes is 'What a reader should know besides the counts: each note with how often it applies (RunNotes).';
