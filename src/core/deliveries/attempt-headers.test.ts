import { expect, it } from 'vitest';
import { attemptHeaders, maskedHeaders } from './attempt-headers.ts';

const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'];
const attempt = {
  id: 'whd_1',
  eventId: 'evt_1',
  eventType: 'run.succeeded',
  attempt: 3,
  trigger: 'redelivery',
  payload: Buffer.from('{"ä":1}'),
} as const;
const headers = attemptHeaders(attempt, { v1: secrets, v1a: [] }, new Date(1_700_000_000_999));

it('an attempt says which it is, and its time in whole seconds', () => {
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'content-length': '8',
    'webhook-id': 'evt_1',
    'webhook-timestamp': '1700000000',
    'x-service-delivery-id': 'whd_1',
    'x-service-event-type': 'run.succeeded',
    'x-service-attempt': '3',
    'x-service-redelivery': 'true',
  });
  expect(headers['user-agent']).toMatch(/^connector-sync\/\d/);
  expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
});

it('only what somebody asked for is a redelivery', () => {
  const auto = attemptHeaders({ ...attempt, trigger: 'auto' }, { v1: secrets, v1a: [] }, new Date());
  expect(auto['x-service-redelivery']).toBe('false');
});

it('the log shows which signatures there were, and none of them', () => {
  const logged = maskedHeaders({ ...headers, 'webhook-signature': 'v1,abc+/= v1,def v1a,ghi' });
  expect(logged).toEqual({ ...headers, 'webhook-signature': 'v1,*** v1,*** v1a,***' });
});
