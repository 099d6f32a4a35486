import type { IncomingMessage } from 'node:http'
import type { Answer, Reply } from './json-server.ts'

/**
 * Answers with the handler of the request's method. HEAD is a GET whose body the server leaves out, OPTIONS lists the methods,
 * and `refused` words the reply to any other method (405) or to a path without handlers (404).
 */
export async function answerMethod(
  method: string | undefined,
  handlers: Readonly<Record<string, () => Promise<Answer>>>,
  refused: (status: 404 | 405) => Reply,
): Promise<Answer> {
  const handle = handlers[method === 'HEAD' ? 'GET' : String(method)]
  if (handle !== undefined) return handle()
  const names = Object.keys(handlers)
  if (names.length === 0) return refused(404)
  const allow = [...names, ...(handlers['GET'] ? ['HEAD'] : []), 'OPTIONS'].join(', ')
  const reply = method === 'OPTIONS' ? { status: 204, body: undefined } : refused(405)
  return withHeaders(reply, { allow })
}

export function withHeaders(reply: Reply, headers: Readonly<Record<string, string>>): Reply {
  return { ...reply, headers: { ...reply.headers, ...headers } }
}

/** The address that the client used, also through a proxy. */
export function originOf({ headers: { host = 'localhost' } }: IncomingMessage): string {
  return `http://${host}`
}
