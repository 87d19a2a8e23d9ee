export type ServiceVariable = 'TEST_POSTGRES_URL' | 'TEST_MARIADB_URL' | 'TEST_RABBITMQ_URL' | 'TEST_NATS_URL';
export const SERVICES: Record<ServiceVariable, { readonly name: string; readonly standard: string }>;
export function unreachable(variable: ServiceVariable, url?: string): Promise<string | undefined>;
