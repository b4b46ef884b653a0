import { brokerInput, brokerOutput, groupInput, groupOutput } from '../../domain/brokers/broker-schema.ts';
import { Authentication, OAuth2 } from '../../domain/config/endpoint-authentication.ts';
import {
  CircuitBreaker,
  MetaEventConfig,
  ProjectConfig,
  Strategy,
} from '../../domain/config/project-config.ts';
import { PubSubInput, VerifierInput } from '../../domain/config/source.ts';
import { BrokerInput } from '../../domain/resources/endpoint-credentials.ts';
import { Account, Me, Member, Person, Session } from '../auth/person-schema.ts';
import {
  DeliveryAttempt,
  EventDelivery,
  RetryMetadata,
  TestAttempt,
  WholeEventDelivery,
} from '../deliveries/delivery-schema.ts';
import { MetaEvent } from '../deliveries/meta-events.ts';
import { WaitingTotals } from '../deliveries/open-counts.ts';
import { Broker } from '../endpoints/broker-of-endpoint.ts';
import { Device } from '../endpoints/device-schema.ts';
import { PeriodFailureRate } from '../endpoints/endpoint-checks.ts';
import { CreateEndpoint, Endpoint, ExpireSecret, UpdateEndpoint } from '../endpoints/endpoint-schema.ts';
import { OnboardCheck, OnboardJob } from '../endpoints/onboard.ts';
import {
  CreateEventType,
  EventType,
  ImportEventTypes,
  UpdateEventType,
} from '../event-types/event-type-schema.ts';
import { BatchEvent, BatchEvents, BatchResult, BatchResults } from '../events/batch-schema.ts';
import { EventDryRun } from '../events/dry-run-event.ts';
import {
  BroadcastEvent,
  CreateEvent,
  DynamicEvent,
  EndpointSummary,
  Event,
  FanoutEvent,
  WholeEvent,
} from '../events/event-schema.ts';
import { CustomerHealth, EndpointHealth, LastFailure } from '../health/project-health.ts';
import { WARNINGS } from '../http/error-handler.ts';
import { Pagination } from '../http/fields.ts';
import { DryRun } from '../jobs/dry-run.ts';
import { RetryResult } from '../jobs/job-result.ts';
import { Job } from '../jobs/jobs.ts';
import { Node } from '../operator/nodes.ts';
import { InstanceSetting } from '../operator/settings.ts';
import { CreatePortalLink, PortalLink, UpdatePortalLink } from '../portal/portal-link-schema.ts';
import { ApiKey, NewApiKey } from '../projects/api-keys.ts';
import { AuditEntry } from '../projects/audit.ts';
import { PartialProjectConfig } from '../projects/project-config-input.ts';
import { ListedProject, Project, ProjectStatistics } from '../projects/projects.ts';
import { BreakerOpening, TimeSeriesPoint, TimeSeriesTotals } from '../projects/timeseries.ts';
import { View } from '../search/views.ts';
import { PubSub } from '../sources/pub-sub-schema.ts';
import { CreateSource, Source, UpdateSource } from '../sources/source-schema.ts';
import { SourceSummary } from '../sources/source-summary.ts';
import { CreateFilter, Filter, UpdateFilter, UpdateFilters } from '../subscriptions/filter-schema.ts';
import { FilterMatch } from '../subscriptions/filters.ts';
import { FunctionLimits, FunctionRequest } from '../subscriptions/function-schema.ts';
import { SubscriptionExplanation } from '../subscriptions/match-explanation.ts';
import { CreateEndpointWithSubscriptions, SubscriptionOfEndpoint } from '../subscriptions/new-endpoint.ts';
import { OrderingKey } from '../subscriptions/ordering-keys.ts';
import {
  CreateSubscription,
  Subscription,
  UpdateSubscription,
} from '../subscriptions/subscription-schema.ts';
import { FilterExplanation, SampleRequest } from '../subscriptions/test-filter.ts';

/** The named schemas of the OpenAPI document, and so of generated clients. */
export const answerSchemas = {
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
  TestAttempt,
  DeliveryAttempt,
  EventDelivery,
  RetryMetadata,
  Endpoint,
  OAuth2,
  EndpointSummary,
  Event,
  BatchResult,
  BatchEventsResult: BatchResults,
  EventDryRun,
  SubscriptionExplanation,
  EventType,
  Pagination,
  Warnings: WARNINGS,
  Filter,
  Job,
  PortalLink,
  OrderingKey,
  ProjectStatistics,
  FunctionLimits,
  FunctionRequest,
  ListedProject,
  Project,
  PubSub,
  Broker,
  KafkaSignIn: groupOutput('kafka', 'auth'),
  SqsSettings: brokerOutput('sqs', 'source'),
  Source,
  Subscription,
  CircuitBreaker,
  MetaEventConfig,
  ProjectConfig,
  Strategy,
  Authentication,
  Device,
  DryRun,
  FilterExplanation,
  InstanceSetting,
  Node,
  OnboardCheck,
  OnboardJob,
  PeriodFailureRate,
  RetryResult,
  SavedView: View,
  SourceSummary,
  FilterMatch,
  CustomerHealth,
  EndpointHealth,
  LastFailure,
  WaitingTotals,
  BreakerOpening,
  TimeSeriesPoint,
  TimeSeriesTotals,
};

/** The schemas of bodies of requests. */
export const requestSchemas = {
  CreateEndpoint: CreateEndpointWithSubscriptions,
  SubscriptionOfEndpoint,
  ExpireSecret,
  UpdateEndpoint,
  BatchEvents,
  BatchEvent,
  BroadcastEvent,
  CreateEvent,
  DynamicEvent,
  FanoutEvent,
  CreateEventType,
  ImportEventTypes,
  UpdateEventType,
  CreateFilter,
  UpdateFilter,
  CreatePortalLink,
  UpdatePortalLink,
  PartialProjectConfig,
  PubSubInput,
  BrokerInput,
  KafkaSignInInput: groupInput('kafka', 'auth'),
  SqsSettingsInput: brokerInput('sqs', 'source'),
  CreateSource,
  UpdateSource,
  VerifierInput,
  CreateSubscription,
  UpdateSubscription,
  OAuth2Input: OAuth2,
  AuthenticationInput: Authentication,
  ClientCertificateInput: CreateEndpoint.properties.mtls_client_cert,
  ChangeStreamInput: CreateSource.properties.db_change_stream,
  ScheduleInput: CreateSource.properties.schedule,
  CustomResponseInput: CreateSource.properties.custom_response,
  AlertConfigInput: CreateSubscription.properties.alert_config,
  FilterConfigInput: CreateSubscription.properties.filter_config,
  RateLimitConfigInput: CreateSubscription.properties.rate_limit_config,
  RetryConfigInput: CreateSubscription.properties.retry_config,
  SampleRequest,
  UpdateFilterById: UpdateFilters.items,
};
