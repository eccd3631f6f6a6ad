import * as v from 'valibot';
import { beginConsent } from '../../control/connect-sessions/authorize.ts';
import { enterValues } from '../../control/connect-sessions/enter-values.ts';
import { finishSession } from '../../control/connect-sessions/finish.ts';
import { testSession } from '../../control/connect-sessions/test-session.ts';
import { viewSession } from '../../control/connect-sessions/view.ts';
import { JsonObject } from '../../core/json/json-object.ts';
import { ConnectTest, ConnectView } from '../../core/resources/connect-session.ts';
import { boundedList } from '../bounded-list.ts';
import { cookieOf } from '../connect-auth.ts';
import { ResponseWithHeaders } from '../response-headers.ts';
import { route } from '../route.ts';

/** What the page of a connect session calls: `src/connect-page`. */
const tag = 'connect page';

export const connectRoutes = [
  route({
    method: 'get',
    path: '/connect',
    summary: 'Read the connect session of a token',
    description: 'Without all that the org has fixed. Also when it has ended.',
    tag,
    auth: 'connect_token',
    status: 200,
    response: ConnectView,
    errors: ['not_found', 'conflict'],
    handle: ({ caller }, deps) => viewSession(deps, caller),
  }),
  route({
    method: 'put',
    path: '/connect/values',
    summary: 'Enter the values of a connect session',
    description: 'All that are asked for; an absent secret stays as it is. Checked as those of a connection.',
    tag,
    auth: 'connect_token',
    costly: 'one_by_one',
    body: v.object({ values: JsonObject }),
    bodyExample: { values: { subdomain: 'example', token: 'the-customers-token' } },
    status: 200,
    response: ConnectView,
    errors: ['not_found', 'conflict', 'plan_limit'],
    async handle({ caller, body }, deps) {
      await enterValues(deps, caller, body.values);
      return await viewSession(deps, caller);
    },
  }),
  route({
    method: 'post',
    path: '/connect/authorize',
    summary: 'Begin the consent of a connect session',
    description: 'The response sets a cookie: only this browser can finish the consent.',
    tag,
    auth: 'connect_token',
    costly: 'side_by_side',
    status: 200,
    response: v.object({ authorizeUrl: v.pipe(v.string(), v.description('The page of the provider.')) }),
    headers: { 'Set-Cookie': { description: 'Binds the consent to this browser, for 10 minutes.' } },
    errors: ['not_found', 'conflict', 'plan_limit'],
    async handle({ caller, browser }, deps) {
      const { browser: own, ...begun } = await beginConsent(deps, caller, browser);
      return new ResponseWithHeaders(begun, { 'set-cookie': cookieOf(own, deps) });
    },
  }),
  route({
    method: 'post',
    path: '/connect/test',
    summary: 'Test one part of what a connect session made',
    description: 'As the test of a connection, without its words: they are in `problem` of the session, for the org.',
    tag,
    auth: 'connect_token',
    costly: 'side_by_side',
    body: v.object({ step: ConnectTest.entries.step }),
    bodyExample: { step: 'source' },
    status: 200,
    response: ConnectTest,
    errors: ['not_found', 'conflict'],
    handle: ({ caller, body }, deps) => testSession(deps, caller, body.step),
  }),
  route({
    method: 'post',
    path: '/connect/finish',
    summary: 'Finish a connect session',
    description:
      'After both parts were tested, by the browser that consented. The connection becomes active, or waits until the org confirms it.',
    tag,
    auth: 'connect_token',
    costly: 'one_by_one',
    body: v.object({
      proofs: v.pipe(
        v.optional(boundedList(v.pipe(v.string(), v.maxLength(200)), 200), []),
        v.description('What came to this browser behind `#proof=` after each consent; without consent none.'),
      ),
    }),
    bodyOptional: true,
    bodyExample: { proofs: ['xUlDk1kQ0pcmBjyiFyg7-ByMSfCkPb5rTOe5xsx5HaE'] },
    status: 200,
    response: v.object({
      view: ConnectView,
      returnAddress: v.pipe(v.nullable(v.string()), v.description('Where the customer goes; null: they stay.')),
    }),
    errors: ['not_found', 'conflict', 'plan_limit'],
    async handle({ caller, body }, deps) {
      const { returnAddress } = await finishSession(deps, caller, body.proofs);
      return { view: await viewSession(deps, caller), returnAddress };
    },
  }),
];
