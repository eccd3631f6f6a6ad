/**
 * A UTC time as nearly every API writes it: `2026-02-28T23:59:59Z`, with three decimals or none, of the years 1000 to 9999.
 * Days that some months lack are left out, so that every match is a real instant that `Date.parse` reads. What matches
 * needs no closer look, which takes several times as long.
 */
export const plainInstant =
  /^[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?Z$/;
