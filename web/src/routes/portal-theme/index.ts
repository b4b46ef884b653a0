export { PortalThemePage } from './portal-theme.tsx';
