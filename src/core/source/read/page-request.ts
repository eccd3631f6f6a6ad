import type { ReadPlan, ReadPosition } from '../../model/read-position.ts';
import { cursorOfText, sendCursor, sendLowerBound } from '../cursor/cursor-value.ts';
import type { RequestRoots } from '../request/request.ts';
import type { Page, PageRequest } from './fetch-page.ts';
import { jobRoot } from './report-job.ts';

export const requestAt = (plan: ReadPlan, position: ReadPosition): PageRequest => ({
  position: position.page,
  ...sentRoots(plan, position),
  isRestarted: position.restarts > 0,
  ...(position.again && { isAgain: true }),
  ...(position.job && { job: jobRoot(position.job) }),
});

/** Roots of the window, and whether requests carry the stored token of a token read. */
export function sentRoots(
  plan: ReadPlan,
  position: ReadPosition,
): RequestRoots & { readonly startsFromToken: boolean } {
  const { cursor } = plan;
  if (cursor === null) {
    const startsFromToken = plan.kind === 'token' && position.from !== null && position.from !== plan.start;
    const watermark = plan.kind === 'token' ? position.from : (plan.sentWatermark ?? null);
    return { window: { from: position.from, to: null }, watermark, startsFromToken };
  }
  const send = (text: string | null, inForm: typeof sendCursor) => {
    const value = cursorOfText(text, cursor.form);
    return value === null ? null : inForm(value, cursor.form);
  };
  const window = { from: send(position.from, sendLowerBound), to: send(position.to, sendCursor) };
  const watermark = send(position.isAnew ? position.from : plan.watermarkBefore, sendLowerBound);
  return { window, watermark, startsFromToken: false };
}

/** The page of a report without records, which is not requested. */
export const emptyReport: Extract<Page, { kind: 'records' }> = {
  kind: 'records',
  records: [],
  next: null,
  isCutOff: false,
  pagesLeft: 0,
  count: 0,
  keyAt: () => '',
  isFlat: true,
  counted: null,
  identity: null,
  token: null,
  recordsMissing: false,
  requestKey: 'job',
  url: '',
  serverDate: null,
  bodyBytes: 0,
  budgetLeft: Number.POSITIVE_INFINITY,
  validators: null,
  isConditional: false,
};
