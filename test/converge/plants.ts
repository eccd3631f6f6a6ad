import type { Plant } from '../simulation/plants.ts';

/** Bugs that stories find: each takes back a mend of a loss. */
export const plants: readonly Plant[] = [
  {
    name: 'a checkpoint counts for a destination that was left meanwhile',
    file: 'src/core/destinations/postgres/checkpoint.ts',
    code: 'held.table_oid = excluded.table_oid and held.generation = excluded.generation then',
    bug: 'held.table_oid = excluded.table_oid then',
  },
  {
    name: 'a delivered record that the filter drops stays',
    file: 'src/core/pipeline/process-page.ts',
    code: 'marked.filter(isKept).map(idOf)',
    bug: 'marked.map(idOf)',
  },
  {
    name: 'a failed enrichment counts as whole',
    file: 'src/core/pipeline/process-page.ts',
    code: 'if (!isDegraded) return whole;',
    bug: 'if (whole) return whole;',
  },
  {
    name: 'an unchanged first page counts for all pages',
    file: 'src/core/source/read/page-step.ts',
    code: 'validators:\n        position.pagesRead === 0 && isListed(gaps) ? keptValidators(source, page.validators, { isWhole }) : null,',
    bug: 'validators: position.pagesRead === 0 ? keptValidators(source, page.validators, { isWhole: true }) : null,',
  },
  {
    name: 'a null is not written',
    file: 'src/core/destinations/sql/record-fields.ts',
    code: 'data[name] === null && fillable.has(name);',
    bug: 'data[name] === null && fillable.size < 0;',
  },
];
