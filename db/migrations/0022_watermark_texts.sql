-- The lowest watermark as it is stored: a text of digits may be that of a cursor of type string, whose zeros count.
create or replace function lane_watermark(lane bigint) returns text language sql stable as $$
  select case
    when count(*) > count(watermark) then null
    when bool_and(watermark ~ '^-?[0-9]+$')
      then (array_agg(watermark order by case when watermark ~ '^-?[0-9]+$' then watermark::numeric end, watermark collate "C"))[1]
    else min(watermark collate "C") end
  from partitions where lane_id = lane $$;
