/** A bug that is planted into the engine, to show that the simulation finds it. */
export interface Plant {
  readonly name: string;
  /** From the root of the tree. */
  readonly file: string;
  /** Its code, and what takes its place. */
  readonly code: string;
  readonly bug: string;
}

/** One for each promise that holds the engine together; the last three were bugs of this engine. */
export const plants: readonly Plant[] = [
  {
    name: 'the ledger is committed before the destination',
    file: 'src/core/run/delivery.ts',
    code: 'const rejected = brings || isFirst ? await destination.apply(batch) : [];',
    bug: 'await ledger.record(batch.receiptOf([])); const rejected = brings || isFirst ? await destination.apply(batch) : [];',
  },
  {
    name: 'the watermark advances early',
    file: 'src/core/source/read/read-window.ts',
    code: "if (cursor.order !== 'asc') return position.claim;",
    bug: '',
  },
  {
    name: 'the fence is dropped',
    file: 'src/core/run/repair.ts',
    code: 'fence, connectionId, target })',
    bug: 'fence: 1, connectionId, target })',
  },
  {
    name: 'a request is sent before it is in the outbox',
    file: 'src/core/destinations/webhook/webhook.ts',
    code: 'await outbox.prepare(batch, outgoing, lane.sequence);',
    bug: 'const [early] = outgoing.parts; if (early) await client.post(early); await outbox.prepare(batch, outgoing, lane.sequence);',
  },
  {
    name: 'a group of other values is read from the old watermark',
    file: 'src/core/run/list-groups.ts',
    code: 'const keys = values.map(({ key }) => key).toSorted();',
    bug: 'const keys = values.map(({ key }) => key).slice(0, 1);',
  },
  {
    name: 'an unchanged list is taken for an empty one',
    file: 'src/core/run/read-partition.ts',
    code: 'gaps: withGaps(at.gaps, page.gaps) }',
    bug: 'gaps: withGaps(at.gaps, page.notModified ? [] : page.gaps) }',
  },
  {
    name: 'the second half of a split window is skipped',
    file: 'src/core/source/read/read-window.ts',
    code: 'const from = new Date(to - Math',
    bug: 'const from = new Date(Math.min(end, (instantOf(position.from, cursor) ?? to) + window.sizeMs) - Math',
  },
  {
    name: 'a window counts as too full only with a full first page',
    file: 'src/core/source/read/read-pages.ts',
    code: 'page.total > cursor.resultCap.records &&',
    bug: 'page.total > cursor.resultCap.records && page.records.length >= cursor.resultCap.records &&',
  },
  {
    name: 'a backfill moves the watermark',
    file: 'src/core/source/read/read-window.ts',
    code: 'const claim = plan.backfill ? seen.claim : claimAtEnd(seen, cursor);',
    bug: 'const claim = claimAtEnd(seen, cursor);',
  },
  {
    name: 'a rewind does not repeat the deletes',
    file: 'src/core/run/read-run.ts',
    code: "if (deletes.mode === 'none' || target.mode === 'replace') return runStart;",
    bug: "if (deletes.mode === 'none' || target.mode !== 'replace') return runStart;",
  },
  {
    name: 'a window without records ends the read',
    file: 'src/core/source/read/read-pages.ts',
    code: '{ ...step, read: { ...step.read, notModified, gaps } }',
    bug: '{ ...step, read: { ...step.read, notModified, gaps, positionAfter: null, watermarkAfter: position.claim } }',
  },
  {
    name: 'a report job is taken for a later window',
    file: 'src/core/source/read/report-job.ts',
    code: 'if (begin.pagesRead === 0) await port.save(begin);\n      job = await create(source, rules, begin, options);',
    bug: 'job = await create(source, rules, { ...begin, from: null, to: null }, options);',
  },
  {
    name: 'a request that may have been sent is halved unsent',
    file: 'src/core/destinations/webhook/webhook.ts',
    code: 'halves && !restored.has(part) && lane.bytesMax !== null',
    bug: 'halves && lane.bytesMax !== null',
  },
];
