import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync } from 'node:fs'
import { cp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROOT } from '../process/cli.ts'
import { runProcess, temporaryDirectory } from '../process/programs.ts'
import { WAIT_MS_MAX } from '../wait-for.ts'

/** Programs that a reader has beside Node: coreutils, what a shell script needs, and those that the pages name. */
const PROGRAMS = [
  'node npm npx git bash sh curl grep jq prometheus script sed',
  'base64 cat cp date dirname env head ls mkdir mv readlink rm sleep touch uname',
]
  .join(' ')
  .split(' ')

/** Surrounds the exit code, which follows a command's output. */
const MARK = '\u0001'

/** A machine of its own: network, processes and home are empty, and the clone is as it was cloned. */
const ENTER = `
set -e
place=$1 clone=$2 packages=$3
mount -t tmpfs -o mode=755 reader "$place"
home=$place/reader/tranched
mkdir -p "$home" "$place"/nas "$place"/written/clone "$place"/written/packages "$place"/scratch/clone "$place"/scratch/packages
mount -t overlay -o "lowerdir=$clone,upperdir=$place/written/clone,workdir=$place/scratch/clone" clone "$home"
mkdir -p "$home/node_modules"
mount -t overlay -o "lowerdir=$packages,upperdir=$place/written/packages,workdir=$place/scratch/packages" packages "$home/node_modules"
mount --rbind "$place" /mnt
perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0); my $up = pack("a16 s x22", "lo", 0x41); ioctl($s, 0x8914, $up) or die $!'
cd /mnt/reader/tranched
shift 3
exec env -i "$@" bash --norc -s
`

/** A clone of the tested tree, committed or not, with the program as built. */
export type Clone = { readonly terminal: () => Promise<Terminal>; remove(): Promise<void> }

export type Typed = { readonly code: number; readonly output: string }

/** A shell in a fresh copy of the clone. */
export type Terminal = {
  /** Types a command and waits until it ends. With an answer, it runs on a terminal that types the answer. */
  type(command: string, answer?: string): Promise<Typed>
  /** Types a command that lasts, and opens the next terminal in the same folder. Returns the file of its output. */
  begin(command: string): Promise<string>
  /** Presses Ctrl-C in the terminal of the last command that lasts, and waits until it ends. */
  interrupt(): Promise<void>
  interruptAll(): Promise<void>
  write(file: string, text: string): Promise<void>
  close(): Promise<void>
}

export async function makeClone(find: (program: string) => string): Promise<Clone> {
  // One build for all pages: of a commit since the last one, each page would build again.
  await run('node', join(ROOT, 'scripts/ensure.mjs'), 'build')
  const directory = await temporaryDirectory()
  const clone = join(directory.path, 'clone')
  await run('git', 'clone', '--quiet', '--no-hardlinks', ROOT, clone)
  const changed = await run(
    'git',
    '-C',
    ROOT,
    'ls-files',
    '-z',
    '--modified',
    '--others',
    '--exclude-standard',
  )
  const deleted = new Set(split(await run('git', '-C', ROOT, 'ls-files', '-z', '--deleted')))
  for (const file of split(changed))
    if (deleted.has(file)) await rm(join(clone, file), { force: true })
    else await cp(join(ROOT, file), join(clone, file))
  await cp(join(ROOT, 'dist'), join(clone, 'dist'), { recursive: true })
  const programs = join(directory.path, 'bin')
  mkdirSync(programs)
  for (const name of PROGRAMS) symlinkSync(find(name), join(programs, name))
  let opened = 0
  return {
    terminal() {
      opened += 1
      const place = join(directory.path, `${opened}`)
      mkdirSync(place)
      return openTerminal({ place, clone, programs })
    },
    remove: directory.remove,
  }
}

async function run(program: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProcess(program, args)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`)
  return stdout
}

const split = (listed: string): string[] => listed.split('\0').filter((file) => file !== '')

async function openTerminal(
  paths: Readonly<Record<'place' | 'clone' | 'programs', string>>,
): Promise<Terminal> {
  const env = {
    HOME: '/mnt/reader',
    PATH: paths.programs,
    TRANCHED_TEST_RUN: process.env['TRANCHED_TEST_RUN'] ?? '',
  }
  const alone = ['--mount', '--pid', '--net', '--fork', '--mount-proc', '--kill-child']
  const script = ['sh', '-c', ENTER, 'sh', paths.place, paths.clone, join(ROOT, 'node_modules')]
  const shell = spawn(
    'unshare',
    [...alone, ...script, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  )
  const exited = once(shell, 'exit')
  let printed = ''
  let isOver = false
  let notify: () => void = () => undefined
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      notify()
    })
  void exited.then(() => {
    isOver = true
    notify()
  })
  const ended = new RegExp(`^([\\s\\S]*)${MARK}(\\d+)${MARK}\n$`)
  async function type(command: string, answer?: string): Promise<Typed> {
    printed = ''
    const asks = answer !== undefined
    const run = asks ? `asked ${quoted(command)} ${quoted(answer)}` : command
    shell.stdin.write(`{ ${run}\n} </dev/null 2>&1; printf '${MARK}%d${MARK}\\n' $?\n`)
    const deadline = AbortSignal.timeout(WAIT_MS_MAX)
    deadline.addEventListener('abort', () => notify())
    while (!ended.test(printed)) {
      if (isOver) throw new Error(`the shell ended in: ${command}\n${printed}`)
      if (deadline.aborted) throw new Error(`still running: ${command}\n${printed}`)
      await new Promise<void>((resolve) => {
        notify = resolve
      })
    }
    const [, output = '', code] = ended.exec(printed) ?? []
    return { code: Number(code), output }
  }
  const lasting: number[] = []
  let begun = 0
  const interrupt = async (): Promise<void> => {
    const pid = lasting.pop()
    const { code, output } = await type(`kill -INT -- -${pid} && wait ${pid}; true`)
    if (code !== 0) throw new Error(output)
  }
  await type('shopt -s expand_aliases; set -m')
  await type(ASKED)
  return {
    type,
    interrupt,
    async begin(command) {
      begun += 1
      const file = `/mnt/lasting-${begun}`
      await type(`{ ${command}\n} >${file} 2>&1 </dev/null &`)
      lasting.push(Number((await type('echo $!')).output))
      return file
    },
    async interruptAll() {
      while (lasting.length > 0) await interrupt()
    },
    async write(file, text) {
      await type(`mkdir -p ${dirname(file)} && cat >${file} <<'END OF FILE'\n${text}END OF FILE`)
    },
    async close() {
      shell.kill('SIGKILL')
      await exited
    },
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A program on a terminal does not know the shell's aliases. */
const ASKED = `asked() { script --quiet --return --command "\${1/#tranched/\${BASH_ALIASES[tranched]}}" /dev/null <<<"$2"; }`
