/**
 * Versioned workflows. Workflows that may live as long as the service follow the current build, so a change of them must
 * replay open histories (`patched()`). Others stay on their first build until their history is restarted. Apart from
 * `index.ts`, because Temporal refuses tasks of an unversioned worker that declares a versioning behavior.
 */
import { setWorkflowOptions } from '@temporalio/workflow';
import { inboundHook } from './inbound-hook.ts';
import { webhookEndpoint } from './webhook-endpoint.ts';

export * from './index.ts';

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, inboundHook);
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, webhookEndpoint);
