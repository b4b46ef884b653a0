export { SubscriptionList } from './subscription-list.tsx';
export { SubscriptionPage } from './subscription-page.tsx';
