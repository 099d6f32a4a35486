import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../support/process/cli.ts'
import { runProcess } from '../support/process/programs.ts'

const PM2 = join(ROOT, 'node_modules/pm2/bin/pm2')
const ECOSYSTEM = join(ROOT, 'ecosystem.config.cjs')

/** pm2's record of an app. */
export type App = {
  readonly pid: number
  readonly status: string
  readonly restarts: number
  readonly exitCode: number | undefined
  /** Path of the program. */
  readonly script: string
  readonly outFile: string
  readonly errorFile: string
}

/** A separate pm2 with its own home directory and background process. End it with `kill`. */
export type Pm2 = {
  /** `pm2 start ecosystem.config.cjs` with a config; returns once pm2 reports the start, or gave up. */
  start(config: string): Promise<string>
  stop(): Promise<string>
  app(): Promise<App>
  kill(): Promise<void>
  /** Saves the running apps and starts them again after pm2 was ended, as a boot does. */
  save(): Promise<string>
  resurrect(): Promise<string>
  /** Process id of its background process. */
  pid(): Promise<number>
}

/** Uses `home` as PM2_HOME. Starts the ecosystem file of the clone, unless another is given. */
export function createPm2(
  home: string,
  {
    ecosystem = ECOSYSTEM,
    env: own = {},
  }: { ecosystem?: string; env?: Record<string, string> } = {},
): Pm2 {
  const run = async (args: readonly string[], env: Record<string, string> = {}) => {
    const { stdout, stderr } = await runProcess(process.execPath, [PM2, ...args], {
      env: { ...own, ...env, PM2_HOME: home, PM2_DISABLE_VERSION_CHECK: 'true' },
    })
    return { stdout, all: stdout + stderr }
  }
  return {
    async start(config) {
      return (await run(['start', ecosystem], { TRANCHED_CONFIG: config })).all
    },
    async stop() {
      return (await run(['stop', 'tranched'])).all
    },
    async app() {
      const { stdout } = await run(['jlist'])
      return appOf(stdout)
    },
    async kill() {
      await run(['kill'])
    },
    async save() {
      return (await run(['save'])).all
    },
    async resurrect() {
      return (await run(['resurrect'])).all
    },
    async pid() {
      return Number(await readFile(join(home, 'pm2.pid'), 'utf8'))
    },
  }
}

type Listed = {
  readonly pid: number
  readonly pm2_env: {
    readonly status: string
    readonly restart_time: number
    readonly exit_code?: number
    readonly pm_exec_path: string
    readonly pm_out_log_path: string
    readonly pm_err_log_path: string
  }
}

/** pm2 may print other text before the list. */
function appOf(stdout: string): App {
  const listed = JSON.parse(stdout.slice(stdout.lastIndexOf('\n[{') + 1)) as readonly Listed[]
  const [app] = listed
  if (app === undefined) throw new Error(`pm2 lists no app: ${stdout}`)
  return {
    pid: app.pid,
    status: app.pm2_env.status,
    restarts: app.pm2_env.restart_time,
    exitCode: app.pm2_env.exit_code,
    script: app.pm2_env.pm_exec_path,
    outFile: app.pm2_env.pm_out_log_path,
    errorFile: app.pm2_env.pm_err_log_path,
  }
}
