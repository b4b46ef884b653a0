import { idTime } from '../domain/ids.ts';
import type { EndpointRow } from '../store/endpoints.ts';
import type { ProjectRow } from '../store/projects.ts';
import type { SourceRow } from '../store/sources.ts';
import type { SubscriptionRow } from '../store/subscriptions.ts';

/**
 * Resources as meta events show them: without secrets. That leaves out signing secrets and credentials, and webhook
 * addresses of chat services too, since whoever knows one may post there.
 */
const iso = (ms: number) => new Date(ms).toISOString();

function times(row: { id: string; updated_at: number; deleted_at: number | null }) {
  return {
    created_at: iso(idTime(row.id)),
    updated_at: iso(row.updated_at),
    deleted_at: row.deleted_at === null ? null : iso(row.deleted_at),
  };
}

export function endpointData(row: EndpointRow): object {
  return {
    uid: row.id,
    project_id: row.project_id,
    owner_id: row.owner_id,
    name: row.name,
    description: row.description,
    url: row.url,
    status: row.status,
    advanced_signatures: row.advanced_signatures,
    content_type: row.content_type,
    http_timeout: row.http_timeout,
    rate_limit: row.rate_limit,
    rate_limit_duration: row.rate_limit_duration,
    support_email: row.support_email,
    ...times(row),
  };
}

export function subscriptionData(row: SubscriptionRow): object {
  return {
    uid: row.id,
    project_id: row.project_id,
    name: row.name,
    type: row.type,
    status: row.status,
    endpoint_id: row.endpoint_id,
    source_id: row.source_id,
    delivery_mode: row.delivery_mode,
    filter_config: { event_types: row.event_types, filter: row.filter },
    alert_config: row.alert_config,
    rate_limit_config: row.rate_limit_config,
    retry_config: row.retry_config,
    ...times(row),
  };
}

export function sourceData(row: SourceRow): object {
  return {
    uid: row.id,
    project_id: row.project_id,
    name: row.name,
    type: row.type,
    provider: row.provider,
    is_disabled: row.is_disabled,
    ...times(row),
  };
}

export function projectData(row: ProjectRow): object {
  const { secret: _, ...metaEvent } = row.config.meta_event;
  return {
    uid: row.id,
    name: row.name,
    type: row.type,
    logo_url: row.logo_url,
    config: { ...row.config, meta_event: metaEvent },
    ...times(row),
  };
}
