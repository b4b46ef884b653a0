import type { FilterConditions, FilterRecord, RetryConfig } from '../../domain/config/subscription.ts';
import type { DeliveryMode } from '../../domain/delivery.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import type { EndpointId, ProjectId, SourceId, SubscriptionId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Queryable } from '../database/database.ts';
import { fieldNames, type VersionedRow, VersionedTable } from './config-table.ts';

export interface SubscriptionFields {
  name: string;
  type: string;
  status: string;
  endpoint_id: EndpointId;
  source_id: SourceId | '';
  event_types: string[];
  filter: FilterConditions;
  /** Existing records. Saving keeps one per event type: it drops the others and creates missing ones. */
  filters?: readonly FilterRecord[];
  function: string;
  delivery_mode: DeliveryMode;
  alert_config: { count: number; threshold: string } | null;
  rate_limit_config: { count: number; duration: number } | null;
  retry_config: RetryConfig | null;
  /** Its name in the file of a project (docs/cli.md). Empty: none. */
  key: string;
}

export interface SubscriptionRow extends VersionedRow, SubscriptionFields {
  id: SubscriptionId;
  filters: readonly FilterRecord[];
}

const fields = fieldNames<SubscriptionFields>({
  name: true,
  type: true,
  status: true,
  endpoint_id: true,
  source_id: true,
  event_types: true,
  filter: true,
  filters: true,
  function: true,
  delivery_mode: true,
  alert_config: true,
  rate_limit_config: true,
  retry_config: true,
  key: true,
});

class SubscriptionTable extends VersionedTable<SubscriptionRow> {
  list(
    db: Queryable,
    projectId: ProjectId,
    filter: {
      page: PageRequest;
      endpointIds?: string[];
      name?: string | undefined;
      scope?: EndpointScope | undefined;
    },
  ): Promise<Page<SubscriptionRow>> {
    const where = this.live(projectId)
      .within('endpoint_id', filter.scope)
      .addIf('endpoint_id = any(?)', filter.endpointIds)
      .addIf('position(lower(?) in lower(name)) > 0', filter.name);
    return this.page(db, where, filter.page);
  }

  /** Undefined: the endpoint has none. */
  oldestOf(
    db: Queryable,
    projectId: ProjectId,
    endpointId: EndpointId,
  ): Promise<SubscriptionRow | undefined> {
    return this.find(db, 'project_id = $1 and endpoint_id = $2', [projectId, endpointId]);
  }
}

export const subscriptions = new SubscriptionTable('subscriptions', fields);
