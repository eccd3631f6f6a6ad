/** Reasons for rows that a statement left untouched without failing: a server only counts the rows that it changed. */

export const keptAway = 'A trigger, rule or row policy of the table keeps this record from being written.';

export const noRowYet = 'The table has no row of this record yet. Every run tries it again until the row is there.';

export const keptRow = 'A trigger, rule or row policy of the table keeps the row of this record from being deleted.';
