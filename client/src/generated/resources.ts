// Made from the routes of the server by `npm run generate`. Changes here are lost.

import type { List } from '../list.ts';
import type { CallOptions } from '../request.ts';
import { asLists, path, Resource, type Scope } from '../resource.ts';
import type {
  Account,
  ApiKey,
  AuditEntry,
  BatchEvents,
  BatchEventsResult,
  BatchReplayEventsQuery,
  BatchRetryEventDeliveriesQuery,
  BeginSecondFactorResult,
  BroadcastEvent,
  CancelEventDeliveriesQuery,
  ChangePasswordBody,
  ChangeRoleBody,
  CheckLinkBody,
  CheckLinkResult,
  ConfirmSecondFactorBody,
  ConfirmSecondFactorResult,
  CountBatchReplayEventsQuery,
  CountBatchReplayEventsResult,
  CountBatchRetryEventDeliveriesQuery,
  CreateEndpoint,
  CreateEvent,
  CreateEventType,
  CreateFilter,
  CreateKeyBody,
  CreatePortalLink,
  CreateProjectBody,
  CreateProjectResult,
  CreateSignInLinkBody,
  CreateSignInLinkResult,
  CreateSource,
  CreateSubscription,
  DeliveryAttempt,
  Device,
  DynamicEvent,
  Endpoint,
  Event,
  EventDelivery,
  EventType,
  ExpireSecret,
  ExplainEventQuery,
  ExplainEventResult,
  FanoutEvent,
  Filter,
  ForceResendEventDeliveriesBody,
  ForceResendEventDeliveriesResult,
  GetDashboardSummaryQuery,
  GetDashboardSummaryResult,
  GetEventTypesAsAsyncApiResult,
  GetEventTypesAsOpenApiResult,
  GetHealthQuery,
  GetHealthResult,
  GetLicenseFeaturesResult,
  GetPeriodFailureRatesQuery,
  GetPortalAuthConfigurationResult,
  GetPortalConfigurationResult,
  GetReceiverResult,
  GetSourceAddressesResult,
  GetStatusTotalsQuery,
  GetStatusTotalsResult,
  GetTimeSeriesQuery,
  GetTimeSeriesResult,
  GetWaitingTotalsQuery,
  GetWaitingTotalsResult,
  ImportEventTypes,
  InstanceSetting,
  InviteToInstanceBody,
  InviteToProjectBody,
  InviteToProjectResult,
  Job,
  ListAccountsQuery,
  ListAuditQuery,
  ListDevicesQuery,
  ListEndpointsQuery,
  ListEventDeliveriesQuery,
  ListEventsQuery,
  ListedProject,
  ListFailuresQuery,
  ListFailuresResult,
  ListInstanceAuditQuery,
  ListJobsQuery,
  ListMetaEventsQuery,
  ListOrderingKeysQuery,
  ListPortalLinksQuery,
  ListProvidersResult,
  ListSourcesQuery,
  ListSubscriptionsQuery,
  Me,
  Member,
  MetaEvent,
  MuteFailuresBody,
  MuteFailuresResult,
  NewApiKey,
  Node,
  OnboardBody,
  OnboardQuery,
  OnboardResult,
  OrderingKey,
  PeriodFailureRate,
  Person,
  PortalLink,
  PreviewSubscriptionBody,
  PreviewSubscriptionResult,
  Project,
  PullEndpointBody,
  PullEndpointResult,
  ReplayEventQuery,
  ReportResultsBody,
  ReportResultsResult,
  RequestResetBody,
  RescheduleEventBody,
  ResendEventDeliveryQuery,
  RollSigningKeyBody,
  RollSigningKeyResult,
  SavedView,
  SaveViewBody,
  SearchQuery,
  SearchResult,
  SendNowEventDeliveriesQuery,
  Session,
  SignInBody,
  SkipOrderingKeysBody,
  SkipOrderingKeysResult,
  Source,
  Subscription,
  TestAttempt,
  TestFilterBody,
  TestFilterResult,
  TestOAuth2Body,
  TestOAuth2Result,
  TestSourceConnectionResult,
  TestSourceFunctionResult,
  TestSubscriptionFunctionBody,
  TestSubscriptionFunctionResult,
  TryEndpointBody,
  TryFiltersBody,
  TryFiltersResult,
  UpdateAccountBody,
  UpdateAccountResult,
  UpdateEndpoint,
  UpdateEventType,
  UpdateFilter,
  UpdateFilterById,
  UpdateMeBody,
  UpdatePortalLink,
  UpdateProjectBody,
  UpdateSource,
  UpdateSubscription,
  UseLinkBody,
  WholeEvent,
  WholeEventDelivery,
} from './types.ts';

export class Projects extends Resource {
  /** List the projects that the caller may use. */
  list(options?: CallOptions): Promise<ListedProject[]> {
    return this.scope.data('GET', path`/api/v1/projects`, { options });
  }

  /** Create a project and its first key. */
  create(body: CreateProjectBody, options?: CallOptions): Promise<CreateProjectResult> {
    return this.scope.data('POST', path`/api/v1/projects`, { body, creates: true, options });
  }

  /** Get a project. */
  get(projectId: string, options?: CallOptions): Promise<Project> {
    return this.scope.data('GET', path`/api/v1/projects/${projectId}`, { options });
  }

  /** Update a project. Fields that are not named keep their value. */
  update(projectId: string, body: UpdateProjectBody, options?: CallOptions): Promise<Project> {
    return this.scope.data('PUT', path`/api/v1/projects/${projectId}`, { body, repeatable: true, options });
  }

  /** Delete a project. Its keys stop working at once. */
  delete(projectId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', path`/api/v1/projects/${projectId}`, { options });
  }

  /** List the keys that the project signs with. */
  listSigningKeys(options?: CallOptions): Promise<RollSigningKeyResult[]> {
    return this.scope.data('GET', this.scope.at`/signing_keys`, { options });
  }

  /** Create a key that signs every delivery. The key before it signs along until it expires. */
  rollSigningKey(body: RollSigningKeyBody, options?: CallOptions): Promise<RollSigningKeyResult> {
    return this.scope.data('POST', this.scope.at`/signing_keys`, { body, creates: true, options });
  }

  /** Delete a signing key. It signs no more, and is no longer published. */
  deleteSigningKey(kid: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', this.scope.at`/signing_keys/${kid}`, { options });
  }
}

export class Keys extends Resource {
  /** List the keys of a project. */
  list(options?: CallOptions): Promise<ApiKey[]> {
    return this.scope.data('GET', this.scope.at`/keys`, { options });
  }

  /** Create another key for a project. */
  create(body: CreateKeyBody, options?: CallOptions): Promise<NewApiKey> {
    return this.scope.data('POST', this.scope.at`/keys`, { body, creates: true, options });
  }

  /** Revoke a key. */
  revoke(keyId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', this.scope.at`/keys/${keyId}`, { options });
  }
}

export class Endpoints extends Resource {
  /** List endpoints. */
  list(query: ListEndpointsQuery = {}, options?: CallOptions): List<Endpoint> {
    return this.scope.list(this.scope.at`/endpoints`, query, options);
  }

  /** Create an endpoint, with its subscriptions. */
  create(body: CreateEndpoint, options?: CallOptions): Promise<Endpoint> {
    return this.scope.data('POST', this.scope.at`/endpoints`, { body, creates: true, options });
  }

  /** Get an endpoint. */
  get(endpointId: string, options?: CallOptions): Promise<Endpoint> {
    return this.scope.data('GET', this.scope.at`/endpoints/${endpointId}`, { options });
  }

  /** Update an endpoint. Fields that are not named keep their value. */
  update(endpointId: string, body: UpdateEndpoint, options?: CallOptions): Promise<Endpoint> {
    return this.scope.data('PUT', this.scope.at`/endpoints/${endpointId}`, {
      body,
      repeatable: true,
      options,
    });
  }

  /** Delete an endpoint and its subscriptions. */
  delete(endpointId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', this.scope.at`/endpoints/${endpointId}`, { options });
  }

  /** Pause an active endpoint, or resume a paused one. Deliveries wait while it is paused. */
  pause(endpointId: string, options?: CallOptions): Promise<Endpoint> {
    return this.scope.data('PUT', this.scope.at`/endpoints/${endpointId}/pause`, { options });
  }

  /** Activate an inactive or paused endpoint. */
  activate(endpointId: string, options?: CallOptions): Promise<Endpoint> {
    return this.scope.data('POST', this.scope.at`/endpoints/${endpointId}/activate`, { options });
  }

  /** Send the challenge of a pending endpoint again. It is active once it has echoed it. */
  verify(endpointId: string, options?: CallOptions): Promise<Endpoint> {
    return this.scope.data('POST', this.scope.at`/endpoints/${endpointId}/verify`, { options });
  }

  /** Roll the signing secret. The old secret keeps signing until it expires. */
  expireSecret(endpointId: string, body: ExpireSecret, options?: CallOptions): Promise<Endpoint> {
    return this.scope.data('PUT', this.scope.at`/endpoints/${endpointId}/expire_secret`, { body, options });
  }

  /** Send a sample event to an endpoint and wait for the attempt. An endpoint without a subscription gets one for every event type. */
  test(endpointId: string, options?: CallOptions): Promise<TestAttempt> {
    return this.scope.data('POST', this.scope.at`/endpoints/${endpointId}/test`, { options });
  }

  /** Send one test request to an endpoint, saved or not. It is not stored and not counted. */
  try(body: TryEndpointBody, options?: CallOptions): Promise<TestAttempt> {
    return this.scope.data('POST', this.scope.at`/endpoints/test`, { body, options });
  }

  /** Get the URL of the built-in receiver, and the latest requests that came to it. */
  getReceiver(options?: CallOptions): Promise<GetReceiverResult> {
    return this.scope.data('GET', this.scope.at`/receiver`, { options });
  }

  /** Start a job that creates many endpoints with their subscriptions. */
  onboard(body: OnboardBody, query: OnboardQuery = {}, options?: CallOptions): Promise<OnboardResult> {
    return this.scope.data('POST', this.scope.at`/onboard`, { body, query, creates: true, options });
  }

  /** Count the deliveries of up to 100 endpoints between two dates by outcome. */
  getPeriodFailureRates(
    query: GetPeriodFailureRatesQuery = {},
    options?: CallOptions,
  ): Promise<PeriodFailureRate[]> {
    return this.scope.data('GET', this.scope.at`/endpoints/period-failure-rates`, { query, options });
  }

  /** List the addresses that deliveries come from, for the firewalls of receivers. */
  getSourceAddresses(options?: CallOptions): Promise<GetSourceAddressesResult> {
    return this.scope.data('GET', this.scope.at`/endpoints/source-addresses`, { options });
  }

  /** Request a token from the token server and report the result. */
  testOAuth2(body: TestOAuth2Body, options?: CallOptions): Promise<TestOAuth2Result> {
    return this.scope.data('POST', this.scope.at`/endpoints/oauth2/test`, { body, options });
  }

  /** Take deliveries of a pull endpoint under a lease. */
  pull(endpointId: string, body: PullEndpointBody, options?: CallOptions): Promise<PullEndpointResult> {
    return this.scope.data('POST', this.scope.at`/endpoints/${endpointId}/pull`, { body, options });
  }

  /** Report the results of deliveries that were taken. */
  reportResults(
    endpointId: string,
    body: ReportResultsBody,
    options?: CallOptions,
  ): Promise<ReportResultsResult> {
    return this.scope.data('POST', this.scope.at`/endpoints/${endpointId}/pull/results`, { body, options });
  }
}

export class Sources extends Resource {
  /** Create a source. */
  create(body: CreateSource, options?: CallOptions): Promise<Source> {
    return this.scope.data('POST', this.scope.at`/sources`, { body, creates: true, options });
  }

  /** List sources. */
  list(query: ListSourcesQuery = {}, options?: CallOptions): List<Source> {
    return this.scope.list(this.scope.at`/sources`, query, options);
  }

  /** Get a source. */
  get(sourceId: string, options?: CallOptions): Promise<Source> {
    return this.scope.data('GET', this.scope.at`/sources/${sourceId}`, { options });
  }

  /** Update a source. Fields that are not named keep their value. */
  update(sourceId: string, body: UpdateSource, options?: CallOptions): Promise<Source> {
    return this.scope.data('PUT', this.scope.at`/sources/${sourceId}`, { body, repeatable: true, options });
  }

  /** Delete a source and its subscriptions. */
  delete(sourceId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', this.scope.at`/sources/${sourceId}`, { options });
  }

  /** Connect to the broker of a source, without taking messages. */
  testConnection(sourceId: string, options?: CallOptions): Promise<TestSourceConnectionResult> {
    return this.scope.data('POST', this.scope.at`/sources/${sourceId}/test_connection`, {
      repeatable: true,
      options,
    });
  }

  /** Run a function on a payload and show its result and its log. Nothing is stored. */
  testFunction(body: TestSubscriptionFunctionBody, options?: CallOptions): Promise<TestSourceFunctionResult> {
    return this.scope.data('POST', this.scope.at`/sources/test_function`, {
      body,
      repeatable: true,
      options,
    });
  }
}

export class Subscriptions extends Resource {
  /** Create a subscription: subscribe an endpoint to event types. */
  create(body: CreateSubscription, options?: CallOptions): Promise<Subscription> {
    return this.scope.data('POST', this.scope.at`/subscriptions`, { body, creates: true, options });
  }

  /** List subscriptions. */
  list(query: ListSubscriptionsQuery = {}, options?: CallOptions): List<Subscription> {
    return this.scope.list(this.scope.at`/subscriptions`, query, options);
  }

  /** Get a subscription. */
  get(subscriptionId: string, options?: CallOptions): Promise<Subscription> {
    return this.scope.data('GET', this.scope.at`/subscriptions/${subscriptionId}`, { options });
  }

  /** Update a subscription. Fields that are not named keep their value. */
  update(subscriptionId: string, body: UpdateSubscription, options?: CallOptions): Promise<Subscription> {
    return this.scope.data('PUT', this.scope.at`/subscriptions/${subscriptionId}`, {
      body,
      repeatable: true,
      options,
    });
  }

  /** Delete a subscription. */
  delete(subscriptionId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', this.scope.at`/subscriptions/${subscriptionId}`, { options });
  }

  /** Switch a subscription between active and inactive. An inactive one matches nothing. */
  toggleStatus(subscriptionId: string, options?: CallOptions): Promise<Subscription> {
    return this.scope.data('PUT', this.scope.at`/subscriptions/${subscriptionId}/toggle_status`, { options });
  }

  /** Test a filter on a request. Nothing is stored. */
  testFilter(body: TestFilterBody, options?: CallOptions): Promise<TestFilterResult> {
    return this.scope.answer('POST', this.scope.at`/subscriptions/test_filter`, {
      body,
      repeatable: true,
      options,
    });
  }

  /** Preview a changed filter or function on the latest events of its types. Nothing is saved or sent. */
  preview(
    subscriptionId: string,
    body: PreviewSubscriptionBody,
    options?: CallOptions,
  ): Promise<PreviewSubscriptionResult> {
    return this.scope.data('POST', this.scope.at`/subscriptions/${subscriptionId}/preview`, {
      body,
      repeatable: true,
      options,
    });
  }

  /** List the ordering keys in which a delivery is open or failed. */
  listOrderingKeys(query: ListOrderingKeysQuery = {}, options?: CallOptions): List<OrderingKey> {
    return this.scope.list(this.scope.at`/ordering-keys`, query, options);
  }

  /** Let the next deliveries of held ordering keys go. The failed ones stay failed. */
  skipOrderingKeys(body: SkipOrderingKeysBody, options?: CallOptions): Promise<SkipOrderingKeysResult> {
    return this.scope.data('POST', this.scope.at`/ordering-keys/skip`, {
      body: asLists(body, 'ids'),
      options,
    });
  }

  /** Run a function on a payload and show its result and its log. Nothing is stored. */
  testFunction(
    body: TestSubscriptionFunctionBody,
    options?: CallOptions,
  ): Promise<TestSubscriptionFunctionResult> {
    return this.scope.data('POST', this.scope.at`/subscriptions/test_function`, {
      body,
      repeatable: true,
      options,
    });
  }
}

export class Filters extends Resource {
  /** List the filters of a subscription, one per event type. */
  list(subscriptionId: string, options?: CallOptions): Promise<Filter[]> {
    return this.scope.data('GET', this.scope.at`/subscriptions/${subscriptionId}/filters`, { options });
  }

  /** Create a filter for another event type of a subscription. */
  create(subscriptionId: string, body: CreateFilter, options?: CallOptions): Promise<Filter> {
    return this.scope.data('POST', this.scope.at`/subscriptions/${subscriptionId}/filters`, {
      body,
      creates: true,
      options,
    });
  }

  /** Get a filter. */
  get(subscriptionId: string, filterId: string, options?: CallOptions): Promise<Filter> {
    return this.scope.data('GET', this.scope.at`/subscriptions/${subscriptionId}/filters/${filterId}`, {
      options,
    });
  }

  /** Update a filter. Fields that are not named keep their value. */
  update(
    subscriptionId: string,
    filterId: string,
    body: UpdateFilter,
    options?: CallOptions,
  ): Promise<Filter> {
    return this.scope.data('PUT', this.scope.at`/subscriptions/${subscriptionId}/filters/${filterId}`, {
      body,
      repeatable: true,
      options,
    });
  }

  /** Delete a filter. The subscription no longer gets its event type. */
  delete(subscriptionId: string, filterId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', this.scope.at`/subscriptions/${subscriptionId}/filters/${filterId}`, {
      options,
    });
  }

  /** Test the filters of a subscription for an event type on a payload or request. */
  try(
    subscriptionId: string,
    eventType: string,
    body: TryFiltersBody,
    options?: CallOptions,
  ): Promise<TryFiltersResult> {
    return this.scope.answer(
      'POST',
      this.scope.at`/subscriptions/${subscriptionId}/filters/test/${eventType}`,
      { body, repeatable: true, options },
    );
  }

  /** Create several filters. If one is refused, none is created. */
  createMany(subscriptionId: string, body: CreateFilter[], options?: CallOptions): Promise<Filter[]> {
    return this.scope.data('POST', this.scope.at`/subscriptions/${subscriptionId}/filters/bulk`, {
      body,
      creates: true,
      options,
    });
  }

  /** Update several filters. If one is refused, none is changed. */
  updateMany(subscriptionId: string, body: UpdateFilterById[], options?: CallOptions): Promise<Filter[]> {
    return this.scope.data('PUT', this.scope.at`/subscriptions/${subscriptionId}/filters/bulk_update`, {
      body,
      repeatable: true,
      options,
    });
  }
}

export class EventTypes extends Resource {
  /** List the event types of the project by name. */
  list(options?: CallOptions): Promise<EventType[]> {
    return this.scope.data('GET', this.scope.at`/event-types`, { options });
  }

  /** Create an event type. */
  create(body: CreateEventType, options?: CallOptions): Promise<EventType> {
    return this.scope.data('POST', this.scope.at`/event-types`, { body, creates: true, options });
  }

  /** Get the event types of the project as an OpenAPI 3.1 document, with an example of each. */
  getAsOpenApi(options?: CallOptions): Promise<GetEventTypesAsOpenApiResult> {
    return this.scope.data('GET', this.scope.at`/event-types/openapi`, { options });
  }

  /** Get the event types of the project as an AsyncAPI 3 document, with an example of each. */
  getAsAsyncApi(options?: CallOptions): Promise<GetEventTypesAsAsyncApiResult> {
    return this.scope.data('GET', this.scope.at`/event-types/asyncapi`, { options });
  }

  /** Update the description of an event type. Fields that are not named keep their value. */
  update(eventTypeId: string, body: UpdateEventType, options?: CallOptions): Promise<EventType> {
    return this.scope.data('PUT', this.scope.at`/event-types/${eventTypeId}`, {
      body,
      repeatable: true,
      options,
    });
  }

  /** Mark an event type as deprecated. It still works. */
  deprecate(eventTypeId: string, options?: CallOptions): Promise<EventType> {
    return this.scope.data('POST', this.scope.at`/event-types/${eventTypeId}/deprecate`, { options });
  }

  /** Create or update event types from the webhooks of an OpenAPI document. */
  import(body: ImportEventTypes, options?: CallOptions): Promise<EventType[]> {
    return this.scope.data('POST', this.scope.at`/event-types/import`, { body, creates: true, options });
  }
}

export class Events extends Resource {
  /** Send an event to every endpoint whose subscription matches its type. */
  broadcast(body: BroadcastEvent, options?: CallOptions): Promise<Event> {
    return this.scope.event(this.scope.at`/events/broadcast`, body, options);
  }

  /** Send an event to one endpoint. */
  create(body: CreateEvent, options?: CallOptions): Promise<Event> {
    return this.scope.event(this.scope.at`/events`, body, options);
  }

  /** List and search events. */
  list(query: ListEventsQuery = {}, options?: CallOptions): List<Event> {
    return this.scope.list(this.scope.at`/events`, query, options);
  }

  /** Send an event to the endpoints of an owner. */
  fanout(body: FanoutEvent, options?: CallOptions): Promise<Event> {
    return this.scope.event(this.scope.at`/events/fanout`, body, options);
  }

  /** Send an event to a URL. Creates an endpoint for the URL if there is none. */
  dynamic(body: DynamicEvent, options?: CallOptions): Promise<Event> {
    return this.scope.event(this.scope.at`/events/dynamic`, body, options);
  }

  /** Send up to 1,000 events. One that is refused does not keep the others from being stored. */
  batch(body: BatchEvents, options?: CallOptions): Promise<BatchEventsResult> {
    return this.scope.data('POST', this.scope.at`/events/batch`, { body, options });
  }

  /** Get an event. */
  get(eventId: string, options?: CallOptions): Promise<WholeEvent> {
    return this.scope.data('GET', this.scope.at`/events/${eventId}`, { options });
  }

  /** Replay an event: match it again and deliver it to every match. */
  replay(eventId: string, query: ReplayEventQuery = {}, options?: CallOptions): Promise<WholeEvent> {
    return this.scope.data('PUT', this.scope.at`/events/${eventId}/replay`, { query, options });
  }

  /** Start a job that replays every event matching the filters. Duplicates are skipped. */
  batchReplay(query: BatchReplayEventsQuery = {}, options?: CallOptions): Promise<Job> {
    return this.scope.job('POST', this.scope.at`/events/batchreplay`, { query, options });
  }

  /** Count the events that a batch replay with these filters would send. */
  countBatchReplay(
    query: CountBatchReplayEventsQuery = {},
    options?: CallOptions,
  ): Promise<CountBatchReplayEventsResult> {
    return this.scope.data('GET', this.scope.at`/events/countbatchreplayevents`, { query, options });
  }

  /** Change the time at which a delayed event is delivered, until that time has come. */
  reschedule(eventId: string, body: RescheduleEventBody, options?: CallOptions): Promise<Event> {
    return this.scope.data('PUT', this.scope.at`/events/${eventId}/deliver_at`, { body, options });
  }

  /** Explain for each subscription why it matches an event or not, under the current config. */
  explain(
    eventId: string,
    query: ExplainEventQuery = {},
    options?: CallOptions,
  ): Promise<ExplainEventResult> {
    return this.scope.data('GET', this.scope.at`/events/${eventId}/explain`, { query, options });
  }
}

export class EventDeliveries extends Resource {
  /** List deliveries. */
  list(query: ListEventDeliveriesQuery = {}, options?: CallOptions): List<EventDelivery> {
    return this.scope.list(this.scope.at`/eventdeliveries`, query, options);
  }

  /** Count the open deliveries by what they wait for. */
  getWaitingTotals(
    query: GetWaitingTotalsQuery = {},
    options?: CallOptions,
  ): Promise<GetWaitingTotalsResult> {
    return this.scope.data('GET', this.scope.at`/eventdeliveries/waitingtotals`, { query, options });
  }

  /** Get a delivery. */
  get(eventDeliveryId: string, options?: CallOptions): Promise<WholeEventDelivery> {
    return this.scope.data('GET', this.scope.at`/eventdeliveries/${eventDeliveryId}`, { options });
  }

  /** Send a failed or discarded delivery again, with a fresh retry budget. */
  resend(
    eventDeliveryId: string,
    query: ResendEventDeliveryQuery = {},
    options?: CallOptions,
  ): Promise<EventDelivery> {
    return this.scope.data('PUT', this.scope.at`/eventdeliveries/${eventDeliveryId}/resend`, {
      query,
      options,
    });
  }

  /** Send successful deliveries again. */
  forceResend(
    body: ForceResendEventDeliveriesBody,
    options?: CallOptions,
  ): Promise<ForceResendEventDeliveriesResult> {
    return this.scope.data('POST', this.scope.at`/eventdeliveries/forceresend`, {
      body: asLists(body, 'ids'),
      options,
    });
  }

  /** Start a job that sends every failed or discarded delivery matching the filters again. */
  batchRetry(query: BatchRetryEventDeliveriesQuery = {}, options?: CallOptions): Promise<Job> {
    return this.scope.data('POST', this.scope.at`/eventdeliveries/batchretry`, { query, options });
  }

  /** Count the deliveries that a batch retry with these filters would send. */
  countBatchRetry(
    query: CountBatchRetryEventDeliveriesQuery = {},
    options?: CallOptions,
  ): Promise<CountBatchReplayEventsResult> {
    return this.scope.data('GET', this.scope.at`/eventdeliveries/countbatchretryevents`, { query, options });
  }

  /** Start a job that discards every open delivery matching the filters in the query or the JSON body. */
  cancel(query: CancelEventDeliveriesQuery = {}, options?: CallOptions): Promise<Job> {
    return this.scope.data('POST', this.scope.at`/eventdeliveries/cancel`, { query, options });
  }

  /** Start a job that makes every waiting delivery matching the filters due now. A pause and a rate limit still hold it; an open circuit breaker gets one probe, whose success releases the rest. With a rate, so many per second become due. Deliveries of delayed events only if `waitingFor`, `eventId` or `deliveryId` names them. */
  sendNow(query: SendNowEventDeliveriesQuery = {}, options?: CallOptions): Promise<Job> {
    return this.scope.data('POST', this.scope.at`/eventdeliveries/sendnow`, { query, options });
  }

  /** Group failing deliveries by endpoint and cause. Without dates, those of the last 24 hours. */
  listFailures(query: ListFailuresQuery = {}, options?: CallOptions): Promise<ListFailuresResult> {
    return this.scope.data('GET', this.scope.at`/failures`, { query, options });
  }

  /** Mute a group of failures until a time, for all users of the project. */
  muteFailures(body: MuteFailuresBody, options?: CallOptions): Promise<MuteFailuresResult> {
    return this.scope.data('POST', this.scope.at`/failures/mutes`, { body, creates: true, options });
  }

  /** Unmute a group of failures. */
  unmuteFailures(muteId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', this.scope.at`/failures/mutes/${muteId}`, { options });
  }
}

export class DeliveryAttempts extends Resource {
  /** List the attempts of a delivery, oldest first. */
  list(eventDeliveryId: string, options?: CallOptions): Promise<DeliveryAttempt[]> {
    return this.scope.data('GET', this.scope.at`/eventdeliveries/${eventDeliveryId}/deliveryattempts`, {
      options,
    });
  }

  /** Get one attempt. */
  get(eventDeliveryId: string, deliveryAttemptId: string, options?: CallOptions): Promise<DeliveryAttempt> {
    return this.scope.data(
      'GET',
      this.scope.at`/eventdeliveries/${eventDeliveryId}/deliveryattempts/${deliveryAttemptId}`,
      { options },
    );
  }
}

export class Jobs extends Resource {
  /** List the background jobs. */
  list(query: ListJobsQuery = {}, options?: CallOptions): List<Job> {
    return this.scope.list(this.scope.at`/jobs`, query, options);
  }

  /** Get a job and its progress. A portal link sees the jobs that it has started. */
  get(jobId: string, options?: CallOptions): Promise<Job> {
    return this.scope.data('GET', this.scope.at`/jobs/${jobId}`, { options });
  }

  /** Cancel a job. Finished work stays done. */
  cancel(jobId: string, options?: CallOptions): Promise<Job> {
    return this.scope.data('PUT', this.scope.at`/jobs/${jobId}/cancel`, { options });
  }
}

export class Devices extends Resource {
  /** List the devices that listen to a project, or did in the last 30 days. */
  list(query: ListDevicesQuery = {}, options?: CallOptions): List<Device> {
    return this.scope.list(this.scope.at`/devices`, query, options);
  }

  /** Delete a device and its subscription. Its connections are closed. */
  delete(deviceId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', this.scope.at`/devices/${deviceId}`, { options });
  }
}

export class Dashboard extends Resource {
  /** Count deliveries and attempts per day, week, month or year. */
  getSummary(
    query: GetDashboardSummaryQuery = {},
    options?: CallOptions,
  ): Promise<GetDashboardSummaryResult> {
    return this.scope.data('GET', this.scope.at`/dashboard/summary`, { query, options });
  }

  /** Count the deliveries between two dates by status. */
  getStatusTotals(query: GetStatusTotalsQuery = {}, options?: CallOptions): Promise<GetStatusTotalsResult> {
    return this.scope.data('GET', this.scope.at`/eventdeliveries/statustotals`, { query, options });
  }

  /** Count events, deliveries and attempts over time, of the project or of some endpoints or sources. */
  getTimeSeries(query: GetTimeSeriesQuery = {}, options?: CallOptions): Promise<GetTimeSeriesResult> {
    return this.scope.data('GET', this.scope.at`/timeseries`, { query, options });
  }

  /** Get the endpoints or customers in trouble, the worst first, with the cause and what waits. */
  getHealth(query: GetHealthQuery = {}, options?: CallOptions): Promise<GetHealthResult> {
    return this.scope.data('GET', this.scope.at`/health`, { query, options });
  }

  /** Search ids, idempotency keys, names, customers, event types and values of payloads for a text. */
  search(query: SearchQuery, options?: CallOptions): Promise<SearchResult> {
    return this.scope.data('GET', this.scope.at`/search`, { query, options });
  }
}

export class Views extends Resource {
  /** List the saved views by page and name. */
  list(options?: CallOptions): Promise<SavedView[]> {
    return this.scope.data('GET', this.scope.at`/views`, { options });
  }

  /** Save a view. A view with the same page and name is replaced. */
  save(body: SaveViewBody, options?: CallOptions): Promise<SavedView> {
    return this.scope.data('POST', this.scope.at`/views`, { body, creates: true, options });
  }

  /** Delete a saved view. */
  delete(viewId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', this.scope.at`/views/${viewId}`, { options });
  }
}

export class Nodes extends Resource {
  /** List the nodes of the instance. */
  list(options?: CallOptions): Promise<Node[]> {
    return this.scope.data('GET', path`/api/v1/nodes`, { options });
  }

  /** List the settings of the node that answers. Secrets are left out. */
  listSettings(options?: CallOptions): Promise<InstanceSetting[]> {
    return this.scope.data('GET', path`/api/v1/settings`, { options });
  }
}

export class PortalLinks extends Resource {
  /** Create a portal link for the endpoints of an owner. */
  create(body: CreatePortalLink, options?: CallOptions): Promise<PortalLink> {
    return this.scope.data('POST', this.scope.at`/portal-links`, {
      body: asLists(body, 'endpoints'),
      creates: true,
      options,
    });
  }

  /** List portal links. */
  list(query: ListPortalLinksQuery = {}, options?: CallOptions): List<PortalLink> {
    return this.scope.list(this.scope.at`/portal-links`, query, options);
  }

  /** Get a portal link. */
  get(portalLinkId: string, options?: CallOptions): Promise<PortalLink> {
    return this.scope.data('GET', this.scope.at`/portal-links/${portalLinkId}`, { options });
  }

  /** Update a portal link. Fields that are not named keep their value. */
  update(portalLinkId: string, body: UpdatePortalLink, options?: CallOptions): Promise<PortalLink> {
    return this.scope.data('PUT', this.scope.at`/portal-links/${portalLinkId}`, {
      body: asLists(body, 'endpoints'),
      repeatable: true,
      options,
    });
  }

  /** Revoke a portal link and all its tokens. */
  revoke(portalLinkId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('PUT', this.scope.at`/portal-links/${portalLinkId}/revoke`, { options });
  }

  /** Create a token for a link of type refresh_token. It is valid for an hour. */
  refreshToken(portalLinkId: string, options?: CallOptions): Promise<string> {
    return this.scope.data('GET', this.scope.at`/portal-links/${portalLinkId}/refresh_token`, { options });
  }
}

export class Portal extends Resource {
  /** Get the portal link of the caller. No new token is created. */
  getLink(options?: CallOptions): Promise<PortalLink> {
    return this.scope.data('GET', path`/portal-api/portal_link`, { options });
  }

  /** Get the settings that the pages of this service need. */
  getConfiguration(options?: CallOptions): Promise<GetPortalConfigurationResult> {
    return this.scope.data('GET', path`/portal-api/configuration`, { options });
  }

  /** Get the settings that the pages of this service need. */
  getAuthConfiguration(options?: CallOptions): Promise<GetPortalAuthConfigurationResult> {
    return this.scope.data('GET', path`/portal-api/configuration/auth`, { options });
  }

  /** List the features of this edition. It has all of them. */
  getLicenseFeatures(options?: CallOptions): Promise<GetLicenseFeaturesResult> {
    return this.scope.data('GET', path`/portal-api/license/features`, { options });
  }
}

export class MetaEvents extends Resource {
  /** List meta events. */
  list(query: ListMetaEventsQuery = {}, options?: CallOptions): List<MetaEvent> {
    return this.scope.list(this.scope.at`/meta-events`, query, options);
  }

  /** Get a meta event. */
  get(metaEventId: string, options?: CallOptions): Promise<MetaEvent> {
    return this.scope.data('GET', this.scope.at`/meta-events/${metaEventId}`, { options });
  }

  /** Send a meta event again, with a fresh retry budget. */
  resend(metaEventId: string, options?: CallOptions): Promise<MetaEvent> {
    return this.scope.data('PUT', this.scope.at`/meta-events/${metaEventId}/resend`, { options });
  }
}

export class Audit extends Resource {
  /** List the audit log of a project, newest entry first. */
  list(query: ListAuditQuery = {}, options?: CallOptions): List<AuditEntry> {
    return this.scope.list(this.scope.at`/audit`, query, options);
  }

  /** List the audit log of the instance and of every project, deleted projects included. */
  listInstance(query: ListInstanceAuditQuery = {}, options?: CallOptions): List<AuditEntry> {
    return this.scope.list(path`/api/v1/audit`, query, options);
  }
}

export class OwnAccount extends Resource {
  /** Get the signed-in person, the projects that are open to it, and the session. */
  getMe(options?: CallOptions): Promise<Me> {
    return this.scope.data('GET', path`/auth/me`, { options });
  }

  /** Change the own name. */
  updateMe(body: UpdateMeBody, options?: CallOptions): Promise<Me> {
    return this.scope.data('PUT', path`/auth/me`, { body, repeatable: true, options });
  }

  /** Change the own password. All other sessions end, and this one gets a new cookie. */
  changePassword(body: ChangePasswordBody, options?: CallOptions): Promise<Me> {
    return this.scope.data('PUT', path`/auth/password`, { body, options });
  }

  /** List the own sessions, newest first. */
  listSessions(options?: CallOptions): Promise<Session[]> {
    return this.scope.data('GET', path`/auth/sessions`, { options });
  }

  /** End all other own sessions, at once. */
  endOtherSessions(options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', path`/auth/sessions`, { options });
  }

  /** End an own session, at once. */
  endSession(sessionId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', path`/auth/sessions/${sessionId}`, { options });
  }

  /** Create a secret for an authenticator app. It counts once a code of it was confirmed. */
  beginSecondFactor(options?: CallOptions): Promise<BeginSecondFactorResult> {
    return this.scope.data('POST', path`/auth/second-factor/begin`, { options });
  }

  /** Switch the second factor on with its first code. All other sessions end, and this one gets a new cookie. */
  confirmSecondFactor(
    body: ConfirmSecondFactorBody,
    options?: CallOptions,
  ): Promise<ConfirmSecondFactorResult> {
    return this.scope.data('POST', path`/auth/second-factor/confirm`, { body, options });
  }

  /** Send a code, for a session that began without one. The session gets a new cookie. */
  passSecondFactor(body: ConfirmSecondFactorBody, options?: CallOptions): Promise<Me> {
    return this.scope.data('POST', path`/auth/second-factor`, { body, options });
  }

  /** Remove the second factor. */
  removeSecondFactor(body: ConfirmSecondFactorBody, options?: CallOptions): Promise<null> {
    return this.scope.data('POST', path`/auth/second-factor/remove`, { body, options });
  }

  /** Create new recovery codes. The earlier ones stop working. */
  renewRecoveryCodes(body: ConfirmSecondFactorBody, options?: CallOptions): Promise<string[]> {
    return this.scope.data('POST', path`/auth/second-factor/recovery-codes`, { body, options });
  }
}

export class People extends Resource {
  /** List the people with a role in a project. */
  list(options?: CallOptions): Promise<Member[]> {
    return this.scope.data('GET', this.scope.at`/people`, { options });
  }

  /** Give a person a role in a project. A person without an account gets one, and an invitation. */
  inviteToProject(body: InviteToProjectBody, options?: CallOptions): Promise<InviteToProjectResult> {
    return this.scope.data('POST', this.scope.at`/people`, { body, creates: true, options });
  }

  /** Give a person another role in a project. */
  changeRole(personId: string, body: ChangeRoleBody, options?: CallOptions): Promise<Person> {
    return this.scope.data('PUT', this.scope.at`/people/${personId}`, { body, options });
  }

  /** Take the role in a project from a person. The account stays. */
  removeFromProject(personId: string, options?: CallOptions): Promise<null> {
    return this.scope.data('DELETE', this.scope.at`/people/${personId}`, { options });
  }

  /** List all accounts, newest first. */
  listAccounts(query: ListAccountsQuery = {}, options?: CallOptions): List<Account> {
    return this.scope.list(path`/api/v1/people`, query, options);
  }

  /** Make a person an administrator of the instance. A person without an account gets one, and an invitation. */
  inviteToInstance(body: InviteToInstanceBody, options?: CallOptions): Promise<InviteToProjectResult> {
    return this.scope.data('POST', path`/api/v1/people`, { body, creates: true, options });
  }

  /** Change an account. Deactivation ends all of its sessions at once. */
  updateAccount(
    personId: string,
    body: UpdateAccountBody,
    options?: CallOptions,
  ): Promise<UpdateAccountResult> {
    return this.scope.data('PUT', path`/api/v1/people/${personId}`, { body, repeatable: true, options });
  }

  /** Create a link that signs a person in once, or resets the password. */
  createSignInLink(body: CreateSignInLinkBody, options?: CallOptions): Promise<CreateSignInLinkResult> {
    return this.scope.data('POST', path`/api/v1/sign-in-links`, { body, creates: true, options });
  }
}

export class SignIn extends Resource {
  /** Sign in with e-mail address and password. Sets the session cookie. */
  signIn(body: SignInBody, options?: CallOptions): Promise<Me> {
    return this.scope.data('POST', path`/auth/sign-in`, { body, options });
  }

  /** End the session of the cookie, if there is one, and remove the cookie. */
  signOut(options?: CallOptions): Promise<null> {
    return this.scope.data('POST', path`/auth/sign-out`, { options });
  }

  /** Mail a link for a new password, if the address has an account. */
  requestReset(body: RequestResetBody, options?: CallOptions): Promise<null> {
    return this.scope.data('POST', path`/auth/reset`, { body, options });
  }

  /** List the ways to sign in. */
  listProviders(options?: CallOptions): Promise<ListProvidersResult> {
    return this.scope.data('GET', path`/auth/providers`, { options });
  }

  /** Look at an invitation, reset or sign-in link without using it. */
  checkLink(body: CheckLinkBody, options?: CallOptions): Promise<CheckLinkResult> {
    return this.scope.data('POST', path`/auth/link/check`, { body, options });
  }

  /** Use an invitation, reset or sign-in link, once. Sets the session cookie. */
  useLink(body: UseLinkBody, options?: CallOptions): Promise<Me> {
    return this.scope.data('POST', path`/auth/link`, { body, options });
  }
}

export class ProjectResources {
  readonly projects: Projects;
  readonly keys: Keys;
  readonly endpoints: Endpoints;
  readonly sources: Sources;
  readonly subscriptions: Subscriptions;
  readonly filters: Filters;
  readonly eventTypes: EventTypes;
  readonly events: Events;
  readonly eventDeliveries: EventDeliveries;
  readonly deliveryAttempts: DeliveryAttempts;
  readonly jobs: Jobs;
  readonly devices: Devices;
  readonly dashboard: Dashboard;
  readonly views: Views;
  readonly nodes: Nodes;
  readonly portalLinks: PortalLinks;
  readonly metaEvents: MetaEvents;
  readonly audit: Audit;
  readonly ownAccount: OwnAccount;
  readonly people: People;
  readonly signIn: SignIn;

  constructor(scope: Scope) {
    this.projects = new Projects(scope);
    this.keys = new Keys(scope);
    this.endpoints = new Endpoints(scope);
    this.sources = new Sources(scope);
    this.subscriptions = new Subscriptions(scope);
    this.filters = new Filters(scope);
    this.eventTypes = new EventTypes(scope);
    this.events = new Events(scope);
    this.eventDeliveries = new EventDeliveries(scope);
    this.deliveryAttempts = new DeliveryAttempts(scope);
    this.jobs = new Jobs(scope);
    this.devices = new Devices(scope);
    this.dashboard = new Dashboard(scope);
    this.views = new Views(scope);
    this.nodes = new Nodes(scope);
    this.portalLinks = new PortalLinks(scope);
    this.metaEvents = new MetaEvents(scope);
    this.audit = new Audit(scope);
    this.ownAccount = new OwnAccount(scope);
    this.people = new People(scope);
    this.signIn = new SignIn(scope);
  }
}

export class PortalResources {
  readonly endpoints: Pick<
    Endpoints,
    | 'list'
    | 'create'
    | 'get'
    | 'update'
    | 'delete'
    | 'pause'
    | 'activate'
    | 'verify'
    | 'expireSecret'
    | 'test'
    | 'try'
    | 'getPeriodFailureRates'
    | 'getSourceAddresses'
    | 'pull'
    | 'reportResults'
  >;
  readonly subscriptions: Pick<
    Subscriptions,
    | 'create'
    | 'list'
    | 'get'
    | 'update'
    | 'delete'
    | 'toggleStatus'
    | 'testFilter'
    | 'preview'
    | 'testFunction'
  >;
  readonly filters: Filters;
  readonly eventTypes: Pick<EventTypes, 'list' | 'getAsOpenApi' | 'getAsAsyncApi'>;
  readonly events: Pick<Events, 'create' | 'list' | 'get' | 'replay' | 'batchReplay' | 'countBatchReplay'>;
  readonly eventDeliveries: Pick<
    EventDeliveries,
    | 'list'
    | 'getWaitingTotals'
    | 'get'
    | 'resend'
    | 'forceResend'
    | 'batchRetry'
    | 'countBatchRetry'
    | 'sendNow'
    | 'listFailures'
  >;
  readonly deliveryAttempts: DeliveryAttempts;
  readonly jobs: Pick<Jobs, 'get'>;
  readonly dashboard: Dashboard;
  readonly portal: Portal;

  constructor(scope: Scope) {
    this.endpoints = new Endpoints(scope);
    this.subscriptions = new Subscriptions(scope);
    this.filters = new Filters(scope);
    this.eventTypes = new EventTypes(scope);
    this.events = new Events(scope);
    this.eventDeliveries = new EventDeliveries(scope);
    this.deliveryAttempts = new DeliveryAttempts(scope);
    this.jobs = new Jobs(scope);
    this.dashboard = new Dashboard(scope);
    this.portal = new Portal(scope);
  }
}
