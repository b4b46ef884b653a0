export { DeliveryList } from './delivery-list.tsx';
export { DeliveryPage } from './delivery-page.tsx';
