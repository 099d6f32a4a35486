import type { ConfigSettings } from '../../../config/settings/build.ts'
import { receiversOf } from '../../../config/settings/notify.ts'
import type { DiskInspection } from '../../../system/disk-space.ts'
import type { SupervisorInspection } from '../../../system/supervisor.ts'
import { type Check, type Checks, fault, fine, unknown, warning } from './check.ts'

const MIB = 1024 * 1024
/** The journal needs little space; other programs on the disk may need more. */
const ROOM_LITTLE = 1024 * MIB
const ROOM_NONE = 64 * MIB
/** Every order waits for three or four durable writes. */
const MEDIAN_MS_MAX = 50
/** A daemon blocked this long by a write gives no sign of life meanwhile. */
const WORST_MS_MAX = 3_000

/** Checks the disk of the state directory: the time of a small durable write, and free space. */
export function checkDisk(dir: string, snapshot: DiskInspection): readonly Check[] {
  return [checkRoom(dir, snapshot.freeBytes), checkLatency(dir, snapshot)]
}

function checkRoom(dir: string, free: number): Check {
  const text = `${roomText(free)} free`
  const remedy =
    'free some space, or move `stateDir` to another disk; `journal.archive` moves finished files away'
  if (free < ROOM_NONE) return fault('disk-room', `${dir}: ${text}`, remedy)
  return free < ROOM_LITTLE
    ? warning('disk-room', `${dir}: ${text}`, remedy)
    : fine('disk-room', text)
}

function checkLatency(dir: string, { writes }: DiskInspection): Check {
  if (writes === undefined)
    return unknown('disk-latency', 'no state directory yet: no write was measured')
  if (!writes.ok) {
    const says = `${dir}: not writable (${writes.why})`
    return fault('disk-latency', says, 'make the user of the daemon its owner, or repair the disk')
  }
  const { medianMs, worstMs } = writes
  const text = `a small durable write takes ${millis(medianMs)}, at worst ${millis(worstMs)}`
  if (medianMs <= MEDIAN_MS_MAX && worstMs <= WORST_MS_MAX) return fine('disk-latency', text)
  return warning(
    'disk-latency',
    `${dir}: ${text}`,
    'move `stateDir` to another disk: an order waits for several such writes, and a network disk may stall',
  )
}

function millis(ms: number): string {
  return ms < 10 ? `${Math.round(ms * 10) / 10} ms` : `${Math.round(ms)} ms`
}

function roomText(bytes: number): string {
  const gib = bytes / 1024 / MIB
  return gib >= 1 ? `${Math.floor(gib)} GiB` : `${Math.floor(bytes / MIB)} MiB`
}

/** A drain and the steps after it take at most 25 s. */
const KILL_TIMEOUT_MS_MIN = 40_000
/** pm2's default. */
const KILL_TIMEOUT_MS_PM2 = 1_600

/** Checks the supervisor that restarts the daemon; `snapshot` is undefined if no daemon runs on this machine. */
export function checkSupervisor(snapshot: SupervisorInspection | undefined): Checks {
  if (snapshot === undefined)
    return unknown('supervisor', 'no daemon runs here, so its supervisor is unknown')
  switch (snapshot.kind) {
    case 'pm2':
      return [
        fine('supervisor', 'pm2 runs the daemon'),
        checkTimeout(snapshot),
        checkSaved(snapshot),
      ]
    case 'systemd':
      return fine('supervisor', 'systemd runs the daemon')
    case 'unseen':
      return unknown(
        'supervisor',
        'neither pm2 nor systemd seems to run the daemon',
        'nothing if something else restarts it; else `npx pm2 start ecosystem.config.cjs`',
      )
    case 'hidden':
      return unknown(
        'supervisor',
        'the supervisor is unknown: the process of the daemon may not be inspected',
      )
  }
}

function checkTimeout({ killTimeoutMs = KILL_TIMEOUT_MS_PM2 }: SupervisorInspection): Check {
  const text = `pm2 waits ${Math.round(killTimeoutMs / 100) / 10} s before it kills`
  if (killTimeoutMs >= KILL_TIMEOUT_MS_MIN) return fine('pm2-kill-timeout', text)
  return warning(
    'pm2-kill-timeout',
    `${text}, but orders in flight take up to ${KILL_TIMEOUT_MS_MIN / 1_000} s to end`,
    'set `kill_timeout: 40_000` in ecosystem.config.cjs, then `pm2 startOrRestart ecosystem.config.cjs`',
  )
}

function checkSaved({ isSaved }: SupervisorInspection): Check {
  if (isSaved === true) return fine('pm2-saved', 'pm2 has saved the daemon for a reboot')
  const what = isSaved === undefined ? 'pm2 has saved nothing' : 'pm2 has not saved the daemon'
  const says = `${what}: it does not start after a reboot`
  const remedy = 'run `pm2 save`, and once `pm2 startup`, which prints the command to run'
  return warning('pm2-saved', says, remedy)
}

/** Checks receivers and heartbeat. Sends nothing. */
export function checkNotify({ mode, notify }: Pick<ConfigSettings, 'mode' | 'notify'>): Checks {
  const receivers = receiversOf(notify)
  const names = receivers.map(({ name }) => name)
  if (receivers.length === 0)
    return mode === 'live'
      ? warning('receivers', 'no receiver is configured', 'see docs/notifications.md')
      : fine('receivers', `no receiver is configured, in mode ${mode}`)
  const known = fine('receivers', `${names.join(', ')}: configured; no message was sent`)
  if (notify.heartbeat !== undefined)
    return [known, fine('heartbeat', 'a monitor reports a daemon that goes silent')]
  const says = 'no heartbeat is configured, so a daemon that goes silent is not reported'
  return [known, warning('heartbeat', says, 'set `notify.heartbeat`: see docs/notifications.md')]
}
