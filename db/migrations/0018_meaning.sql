-- A lane says what its facts are about: an attempt compares, and resets what no longer means the same (conformLane). A lane
-- that was asked to reset something has a meaning that differs in just that.
alter table lanes add column meaning jsonb;
comment on column lanes.meaning is 'What the facts stored of the lane are about, each kind as a digest (Meaning). Null: that of the spec and the params of today.';
update lanes set meaning = case reset when 'state' then '{"key": ""}'::jsonb else '{"cursor": ""}'::jsonb end where reset is not null;
alter table lanes drop column reset;
