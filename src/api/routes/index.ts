/**
 * Every endpoint, declared in a file per resource. Handlers that read call `db/queries`, those that write call
 * `src/control`; none decides a status or checks an input.
 */

import type { Route } from '../route.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { catalogueRoutes } from './catalogue.ts';
import { connectRoutes } from './connect.ts';
import { connectSessionRoutes } from './connect-sessions.ts';
import { connectionRoutes } from './connections.ts';
import { embedRoutes } from './embed.ts';
import { eventTypeRoutes } from './event-types.ts';
import { hookRoutes } from './hooks.ts';
import { oauthRoutes } from './oauth.ts';
import { oauthAppRoutes } from './oauth-apps.ts';
import { quarantineRoutes } from './quarantine.ts';
import { runRoutes } from './runs.ts';
import { scheduleRoutes } from './schedules.ts';
import { specRoutes } from './specs.ts';
import { webhookDeliveryRoutes } from './webhook-deliveries.ts';
import { webhookEndpointRoutes } from './webhook-endpoints.ts';
import { workspaceRoutes } from './workspaces.ts';

/** In the order of the interface specification. */
export const routes: readonly Route[] = [
  ...specRoutes,
  ...connectionRoutes,
  ...scheduleRoutes,
  ...hookRoutes,
  ...runRoutes,
  ...quarantineRoutes,
  ...apiKeyRoutes,
  ...embedRoutes,
  ...webhookDeliveryRoutes,
  ...oauthRoutes,
  ...oauthAppRoutes,
  ...workspaceRoutes,
  ...webhookEndpointRoutes,
  ...eventTypeRoutes,
  ...catalogueRoutes,
  ...connectSessionRoutes,
  ...connectRoutes,
];
