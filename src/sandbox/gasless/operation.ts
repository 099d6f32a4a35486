import type { IncomingMessage } from 'node:http'
import type * as z from 'zod'
import type { WireErrorResponse } from '../../venues/swap/client/gasless-wire.ts'
import type { Route } from '../faults.ts'
import { type BodyProblem, type Reply, readJson } from '../http/json-server.ts'

/** An operation of the REST interface: its checks and its description all come from here. */
export type Operation = Input & {
  readonly operationId: string
  readonly method: 'GET' | 'POST'
  /** Below the prefix, in OpenAPI's notation. */
  readonly path: string
  /** Its faults and its rate limit. */
  readonly route: Route
  readonly summary: string
  readonly result: z.ZodType
  /** Successes by their status. */
  readonly replies: Readonly<Record<number, string>>
}

/** What an operation reads, and what it does with that. `value`: the parameter as sent. */
type Input = {
  readonly parameter?: Parameter
  readonly body?: z.ZodType
  readonly handle: (
    request: IncomingMessage,
    value: string | null | undefined,
  ) => Reply | Promise<Reply>
}

type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly schema: z.ZodType<string>
  /** Follows the name in refusals. */
  readonly rule: string
}

const BODY_BYTES_MAX = 64 * 1024
export const STATUS: Readonly<Record<WireErrorResponse['error']['code'], number>> = {
  BAD_REQUEST: 400,
  NOT_FOUND: 404,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
}
const PROBLEMS: Readonly<Record<BodyProblem, string>> = {
  notJson: 'content-type must be application/json',
  tooLarge: `the body is larger than ${BODY_BYTES_MAX} bytes`,
  malformed: 'the body is not well-formed JSON',
}

export function errorReply(code: WireErrorResponse['error']['code'], message: string): Reply {
  const body: WireErrorResponse = { error: { code, message } }
  return { status: STATUS[code], body }
}

export function badRequest(message: string): Reply {
  return errorReply('BAD_REQUEST', message)
}

/** Handles a parameter; answers 400 if its schema refuses it. */
export function given(parameter: Parameter, handle: (value: string) => Reply): Input {
  return {
    parameter,
    handle: (_, value) => {
      const parsed = parameter.schema.safeParse(value)
      return parsed.success
        ? handle(parsed.data)
        : badRequest(`${parameter.name} ${parameter.rule}`)
    },
  }
}

/** Handles a JSON body; answers 400 if it cannot be read or the schema refuses it. */
export function posted<Body>(schema: z.ZodType<Body>, handle: (body: Body) => Reply): Input {
  return {
    body: schema,
    handle: async (request) => {
      const read = await readJson(request, BODY_BYTES_MAX)
      if (!read.ok) return badRequest(PROBLEMS[read.problem])
      const parsed = schema.safeParse(read.value)
      if (parsed.success) return handle(parsed.data)
      const [first] = parsed.error.issues
      return badRequest(`${first?.path.join('.') || 'body'}: ${first?.message ?? 'invalid'}`)
    },
  }
}

/** The parameter of an operation in a URL whose path, without the prefix, is the operation's; else no match. */
export function matched({ path, parameter }: Operation, at: string, url: URL) {
  const match = new RegExp(`^${path.replace(/\{\w+\}/, '([^/]*)')}/?$`).exec(at)
  if (match === null) return undefined
  const isInQuery = parameter?.in === 'query'
  return { value: isInQuery ? url.searchParams.get(parameter.name) : decode(match[1]) }
}

function decode(part = ''): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    // The path has a stray percent sign.
    return undefined
  }
}
