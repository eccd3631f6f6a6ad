/** Rows that a statement should have written or deleted, and did not: a server counts them, and says nothing else of them. */

/** Why a record is not in the table although no statement failed. */
export const keptAway = 'A trigger, rule or row policy of the table keeps this record from being written.';

/** Why a record of mode update is not in the table; it is awaited. */
export const noRowYet = 'The table has no row of this record yet. Every run tries it again until the row is there.';

/** Why a deleted record is still in the table although no statement failed. */
export const keptRow = 'A trigger, rule or row policy of the table keeps the row of this record from being deleted.';
