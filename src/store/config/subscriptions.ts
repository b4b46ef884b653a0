import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import type { EndpointId, ProjectId, SubscriptionId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { withUsualParts } from '../../domain/resources/fields.ts';
import { type SubscriptionFields, subscriptionFields } from '../../domain/resources/subscription-fields.ts';
import type { Queryable } from '../database/database.ts';
import { type VersionedRow, VersionedTable } from './config-table.ts';

export interface SubscriptionRow extends VersionedRow, SubscriptionFields {
  id: SubscriptionId;
}

class SubscriptionTable extends VersionedTable<SubscriptionRow> {
  override toRow(stored: object): SubscriptionRow {
    return withUsualParts(subscriptionFields, super.toRow(stored));
  }

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

  /** Oldest first. */
  allOf(db: Queryable, projectId: ProjectId, endpointId: EndpointId): Promise<SubscriptionRow[]> {
    return this.findAll(db, 'project_id = $1 and endpoint_id = $2', [projectId, endpointId]);
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

export const subscriptions = new SubscriptionTable('subscriptions', Object.keys(subscriptionFields));
