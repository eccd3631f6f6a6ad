import type { CursorPlan } from '../../model/read-position.ts';

export const plainCursorPlan: CursorPlan = {
  form: { type: 'datetime' },
  field: 'updated_at',
  missing: 'include',
  order: 'asc',
  settleMs: 0,
  lookbackMs: 0,
  lookbackUnits: 0,
  window: null,
  resultCap: null,
  retention: null,
  clientFilter: false,
  overlap: false,
  claimsAtEnd: false,
};
