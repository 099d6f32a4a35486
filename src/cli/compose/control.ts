import {
  type Asked,
  askControl,
  type ControlAnswer,
  ControlPathError,
  type ControlRequest,
  controlPath,
  serveControl,
} from '../../adapters/control/control-socket.ts'
import { watchDirectory } from '../../adapters/control/file-watch.ts'

/** A reload reads every file, and waits for the tick under way. */
const ANSWER_MS_MAX = 30_000

/** Asks the daemon of a state directory. Never rejects. */
export function askDaemon(
  stateDir: string,
  request: ControlRequest,
  timeoutMs = ANSWER_MS_MAX,
): Promise<Asked> {
  return askControl(controlPath(stateDir), request, timeoutMs)
}

/** Answers on a state directory's socket; or says why there is none, where its path is too long. */
export async function listenForOperator(
  stateDir: string,
  answer: (request: ControlRequest) => Promise<ControlAnswer>,
): Promise<
  { readonly ok: true; close(): Promise<void> } | { readonly ok: false; readonly why: string }
> {
  try {
    return { ok: true, ...(await serveControl(controlPath(stateDir), answer)) }
  } catch (error) {
    if (error instanceof ControlPathError) return { ok: false, why: error.message }
    throw error
  }
}

/** Calls back when files of a directory have changed and come to rest. */
export function watchFiles(
  dir: string,
  onChange: () => void,
  onFailure: (error: Error) => void,
): { close(): void } {
  return watchDirectory(dir, onChange, onFailure)
}
