import type { WireErrorResponse } from '../../wire/gasless.ts'
import type { Reply } from '../http/json-server.ts'
import type { SandboxLog } from '../log.ts'

type Code = WireErrorResponse['error']['code']

const STATUS: Readonly<Record<Code, number>> = {
  BAD_REQUEST: 400,
  NOT_FOUND: 404,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
}

/** The service's error envelope with the status that belongs to the code. */
export function errorReply(code: Code, message: string): Reply {
  const body: WireErrorResponse = { error: { code, message } }
  return { status: STATUS[code], body }
}

/** Answer to a request whose handler threw, which is always a bug: it is logged and told as an internal error. */
export function crashReply(log: SandboxLog, server: string): (error: unknown) => Reply {
  return (error: unknown) => {
    log('sandbox.handlerFailed', { server, error: String(error) })
    return errorReply('INTERNAL_ERROR', 'internal failure')
  }
}
