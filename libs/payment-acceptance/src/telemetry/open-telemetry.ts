import type * as OpenTelemetry from '@opentelemetry/api';

export type OpenTelemetryApi = typeof OpenTelemetry;

/**
 * `@opentelemetry/api`, where the host has installed it. Asked for when the module starts, not when it is imported, so
 * that its absence costs nothing; `import()` serves both builds. Whichever copy is found, the SDK that the host has
 * registered is behind it: the API keeps that under a global symbol.
 */
export async function loadOpenTelemetry(
  load: () => Promise<OpenTelemetryApi> = () => import('@opentelemetry/api'),
): Promise<OpenTelemetryApi | undefined> {
  try {
    return await load();
  } catch (error) {
    const code: unknown = (error as { code?: unknown } | null)?.code;
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
