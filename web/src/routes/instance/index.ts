export { InstanceAudit } from './instance-audit.tsx';
export { InstanceSettings } from './instance-settings.tsx';
export { Nodes } from './nodes.tsx';
export { Projects } from './projects.tsx';
