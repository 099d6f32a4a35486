import { existsSync } from 'node:fs'
import { type Asked, askControl, controlPath } from '../../control/ask-control.ts'
import type { ControlRequest } from '../../control/control-socket.ts'
import { haltFilePath, readHaltFile, writeHaltFile } from '../../control/halt-file.ts'
import { type Holding, heldDirectories } from '../../control/running-daemons.ts'
import { messageOf } from '../../domain/errors.ts'
import { readLock } from '../../store/lock/state-lock.ts'
import { makeDirectory } from '../../system/directory.ts'

/** Running daemons and the file HALT: all that `tranched halt` needs. */
export const DAEMON = 'run'

export function commandLine(command: string): string {
  return `tranched ${command}`
}

export type RunningDaemon = Omit<Holding, 'dir'> & { readonly stateDir: string }

/** All running daemons whose state directory this user may read, or why they are unknown. */
export function runningDaemons():
  | { readonly ok: true; readonly daemons: readonly RunningDaemon[] }
  | { readonly ok: false; readonly why: string } {
  try {
    const daemons = heldDirectories()
      .filter(({ command }) => command === commandLine(DAEMON))
      .map(({ dir: stateDir, ...each }) => ({ ...each, stateDir }))
    return { ok: true, daemons }
  } catch (error) {
    return { ok: false, why: messageOf(error) }
  }
}

/** A reload reads all files, and waits for the current tick. */
const ANSWER_MS_MAX = 30_000

export function askDaemon(
  stateDir: string,
  request: ControlRequest,
  timeoutMs = ANSWER_MS_MAX,
): Promise<Asked> {
  return askControl(controlPath(stateDir), request, timeoutMs)
}

/**
 * Names the process that holds a state directory without answering. Ignores a holder of uncertain status: the next process
 * to lock the directory waits for it.
 */
export function silentHolder({ tag }: Asked, stateDir: string): string | undefined {
  const holder = readLock(stateDir)
  if (tag !== 'silent' && holder?.status !== 'alive') return undefined
  return holder === undefined ? 'the daemon' : `the process ${holder.pid}`
}

/** Why the file HALT blocks signatures, for a reader; undefined without file or directory. */
export function haltOf(stateDir: string): string | undefined {
  if (!existsSync(stateDir)) return undefined
  const reading = readHaltFile(stateDir)
  return reading.tag === 'absent' ? undefined : reading.detail
}

/**
 * Writes the file HALT. `mayMake`: a daemon surely uses this directory, so it is created if missing. Never throws; `fault`
 * says why there is no file.
 */
export function giveHalt(
  stateDir: string,
  { text, mayMake }: { readonly text: string; readonly mayMake: boolean },
): { readonly file: string; readonly fault: string | undefined } {
  const file = haltFilePath(stateDir)
  try {
    if (mayMake) makeDirectory(stateDir, 0o700)
    writeHaltFile(stateDir, text)
    return { file, fault: undefined }
  } catch (error) {
    return { file, fault: `the file ${file} could not be created (${messageOf(error)})` }
  }
}
