import type { IncomingMessage } from 'node:http'
import type { ZodType } from 'zod'
import { type BodyProblem, type Reply, readJson } from '../http/json-server.ts'
import { errorReply } from './envelope.ts'

const BODY_BYTES_MAX = 64 * 1024

const PROBLEMS: Readonly<Record<BodyProblem, string>> = {
  notJson: 'content-type must be application/json',
  tooLarge: `the body is larger than ${BODY_BYTES_MAX} bytes`,
  malformed: 'the body is not well-formed JSON',
}

/** Reads a request body of the given shape, or says in the service's envelope why it cannot. */
export async function readBody<T>(
  request: IncomingMessage,
  schema: ZodType<T>,
): Promise<{ ok: true; value: T } | { ok: false; reply: Reply }> {
  const read = await readJson(request, BODY_BYTES_MAX)
  if (!read.ok) return { ok: false, reply: errorReply('BAD_REQUEST', PROBLEMS[read.problem]) }
  const parsed = schema.safeParse(read.value)
  if (parsed.success) return { ok: true, value: parsed.data }
  const [first] = parsed.error.issues
  const where = first === undefined || first.path.length === 0 ? 'body' : first.path.join('.')
  return { ok: false, reply: errorReply('BAD_REQUEST', `${where}: ${first?.message ?? 'invalid'}`) }
}
