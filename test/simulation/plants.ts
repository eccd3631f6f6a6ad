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
    file: 'src/core/source/read/claims.ts',
    code: "if (cursor.order !== 'asc' || cursor.claimsAtEnd || position.trail?.isLoose) return position.claim;",
    bug: '',
  },
  {
    name: 'a request is sent before it is in the outbox',
    file: 'src/core/destinations/webhook/webhook.ts',
    code: 'await outbox.prepare(batch, outgoing, lane.sequence);',
    bug: 'const [early] = outgoing.parts; if (early) await client.post(early); await outbox.prepare(batch, outgoing, lane.sequence);',
  },
  {
    name: 'the fence is dropped',
    file: 'src/core/run/repair.ts',
    code: 'lane, fence, generation,',
    bug: 'lane, fence: 1, generation,',
  },
  {
    name: 'an unchanged list is taken for an empty one',
    file: 'src/core/run/read-partition.ts',
    code: 'gaps: withGaps(at.gaps, page.gaps),',
    bug: 'gaps: withGaps(at.gaps, page.notModified ? [] : page.gaps),',
  },
  {
    name: 'the second half of a split window is skipped',
    file: 'src/core/source/read/window-bounds.ts',
    code: 'const from = Math.max(to - window.overlapMs, first);',
    bug: 'const from = Math.min(end, first + window.sizeMs);',
  },
  {
    name: 'a window without records ends the read',
    file: 'src/core/source/read/read-pages.ts',
    code: '{ ...step, read: { ...step.read, notModified } }',
    bug: '{ ...step, read: { ...step.read, notModified, positionAfter: null, watermarkAfter: position.claim } }',
  },
  {
    name: 'a backfill moves the watermark',
    file: 'src/core/source/read/claims.ts',
    code: '!plan.backfill || again === true;',
    bug: 'plan.backfill || again !== null;',
  },
  {
    name: 'a report job is taken for a later window',
    file: 'src/core/source/read/report-job.ts',
    code: 'if (begin.pagesRead === 0) await port.save(begin);\n      job = await create(source, rules, begin, options);',
    bug: 'job = await create(source, rules, { ...begin, from: null, to: null }, options);',
  },
  {
    name: 'what records say of themselves deletes nothing',
    file: 'src/core/run/read-partition.ts',
    code: 'comparesAtEnd(resource) ? !isUnchanged : deletesAtEnd(resource)',
    bug: 'comparesAtEnd(resource) && !isUnchanged && deletesAtEnd(resource)',
  },
  {
    name: 'a request that may have been sent is halved unsent',
    file: 'src/core/destinations/webhook/webhook.ts',
    code: 'halves && !restored.has(part) && lane.bytesMax !== null',
    bug: 'halves && lane.bytesMax !== null',
  },
];
