import { CircuitBreaker, MetaEventConfig, ProjectConfig, Strategy } from '../../domain/project-config.ts';
import { ApiKey, NewApiKey } from '../api-keys.ts';
import { AuditEntry } from '../audit.ts';
import { DeliveryAttempt, EventDelivery, RetryMetadata, WholeEventDelivery } from '../delivery-schema.ts';
import { CreateEndpoint, Endpoint, ExpireSecret, OAuth2, UpdateEndpoint } from '../endpoint-schema.ts';
import {
  BroadcastEvent,
  CreateEvent,
  DynamicEvent,
  EndpointSummary,
  Event,
  FanoutEvent,
  WholeEvent,
} from '../event-schema.ts';
import { CreateEventType, EventType, ImportEventTypes, UpdateEventType } from '../event-type-schema.ts';
import { Pagination } from '../fields.ts';
import { CreateFilter, Filter, UpdateFilter } from '../filter-schema.ts';
import { Job } from '../jobs.ts';
import { MetaEvent } from '../meta-events.ts';
import { CreatePortalLink, PortalLink, UpdatePortalLink } from '../portal-link-schema.ts';
import { PartialProjectConfig } from '../project-config-input.ts';
import { Project } from '../projects.ts';
import { PubSub, PubSubInput } from '../pub-sub-schema.ts';
import { CreateSource, Source, UpdateSource, VerifierInput } from '../source-schema.ts';
import { CreateSubscription, Subscription, UpdateSubscription } from '../subscription-schema.ts';

/** The schemas that have a name in the OpenAPI document, and so in the clients that are generated from it. */
export const namedSchemas = {
  WholeEvent,
  WholeEventDelivery,
  AuditEntry,
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
  CreateFilter,
  Filter,
  UpdateFilter,
  Job,
  CreatePortalLink,
  PortalLink,
  UpdatePortalLink,
  PartialProjectConfig,
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
