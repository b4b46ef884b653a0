import {
  CircuitBreaker,
  MetaEventConfig,
  ProjectConfig,
  Strategy,
} from '../../domain/config/project-config.ts';
import { Account, Me, Member, Person, Session } from '../auth/person-schema.ts';
import {
  DeliveryAttempt,
  EventDelivery,
  RetryMetadata,
  WholeEventDelivery,
} from '../deliveries/delivery-schema.ts';
import { MetaEvent } from '../deliveries/meta-events.ts';
import {
  CreateEndpoint,
  Endpoint,
  ExpireSecret,
  OAuth2,
  UpdateEndpoint,
} from '../endpoints/endpoint-schema.ts';
import {
  CreateEventType,
  EventType,
  ImportEventTypes,
  UpdateEventType,
} from '../event-types/event-type-schema.ts';
import {
  BroadcastEvent,
  CreateEvent,
  DynamicEvent,
  EndpointSummary,
  Event,
  FanoutEvent,
  WholeEvent,
} from '../events/event-schema.ts';
import { WARNINGS } from '../http/error-handler.ts';
import { Pagination } from '../http/fields.ts';
import { Job } from '../jobs/jobs.ts';
import { CreatePortalLink, PortalLink, UpdatePortalLink } from '../portal/portal-link-schema.ts';
import { ApiKey, NewApiKey } from '../projects/api-keys.ts';
import { AuditEntry } from '../projects/audit.ts';
import { PartialProjectConfig } from '../projects/project-config-input.ts';
import { ListedProject, Project } from '../projects/projects.ts';
import { PubSub, PubSubInput } from '../sources/pub-sub-schema.ts';
import { CreateSource, Source, UpdateSource, VerifierInput } from '../sources/source-schema.ts';
import { CreateFilter, Filter, UpdateFilter } from '../subscriptions/filter-schema.ts';
import {
  CreateSubscription,
  Subscription,
  UpdateSubscription,
} from '../subscriptions/subscription-schema.ts';

/** The named schemas of the OpenAPI document, and so of generated clients. */
export const namedSchemas = {
  WholeEvent,
  WholeEventDelivery,
  AuditEntry,
  Account,
  Me,
  Member,
  Person,
  Session,
  MetaEvent,
  ApiKey,
  NewApiKey,
  DeliveryAttempt,
  EventDelivery,
  RetryMetadata,
  CreateEndpoint,
  Endpoint,
  ExpireSecret,
  OAuth2,
  UpdateEndpoint,
  BroadcastEvent,
  CreateEvent,
  DynamicEvent,
  EndpointSummary,
  Event,
  FanoutEvent,
  CreateEventType,
  EventType,
  ImportEventTypes,
  UpdateEventType,
  Pagination,
  Warnings: WARNINGS,
  CreateFilter,
  Filter,
  UpdateFilter,
  Job,
  CreatePortalLink,
  PortalLink,
  UpdatePortalLink,
  PartialProjectConfig,
  ListedProject,
  Project,
  PubSub,
  PubSubInput,
  CreateSource,
  Source,
  UpdateSource,
  VerifierInput,
  CreateSubscription,
  Subscription,
  UpdateSubscription,
  CircuitBreaker,
  MetaEventConfig,
  ProjectConfig,
  Strategy,
};
