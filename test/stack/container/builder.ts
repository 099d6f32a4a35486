import { cpSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runProcess } from '../../support/process/programs.ts'
import {
  argumentOf,
  type Dockerfile,
  execFormOf,
  pairsOf,
  type Stage,
  substitute,
} from './dockerfile.ts'
import type { Workshop } from './workshop.ts'

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Result of a stage: its own layer on those below, and its settings. */
export type Image = {
  /** Folders in the workshop with the files added to the system, the last one first. */
  readonly layers: readonly string[]
  readonly env: ReadonlyMap<string, string>
  readonly labels: ReadonlyMap<string, string>
  readonly user: string
  readonly workdir: string
  readonly entrypoint: readonly string[]
  readonly command: readonly string[]
  readonly health: { readonly flags: string; readonly command: readonly string[] } | undefined
  readonly stopSignal: string | undefined
}

export type BuildInput = {
  readonly workshop: Workshop
  /** Folder in the workshop that COPY takes from. */
  readonly context: string
  readonly buildArgs: ReadonlyMap<string, string>
  /** Environment of every step besides its own: proxies, npm's cache folder. */
  readonly env: Readonly<Record<string, string>>
}

const SYSTEM: Image = {
  layers: [],
  env: new Map([['PATH', PATH]]),
  labels: new Map(),
  user: '0:0',
  workdir: '/',
  entrypoint: [],
  command: [],
  health: undefined,
  stopSignal: undefined,
}

/** Runs every step of every stage in a separate root over this machine's system, which stands in for the base image. */
export async function build(
  { stages }: Dockerfile,
  input: BuildInput,
): Promise<ReadonlyMap<string, Image>> {
  const images = new Map<string, Image>()
  for (const stage of stages) images.set(stage.name, await buildStage(stage, input, images))
  return images
}

async function buildStage(
  stage: Stage,
  input: BuildInput,
  images: ReadonlyMap<string, Image>,
): Promise<Image> {
  const layer = join(input.workshop.path, 'layers', stage.name)
  mkdirSync(layer, { recursive: true })
  const base = images.get(stage.base) ?? SYSTEM
  let image: Image = { ...base, layers: [layer, ...base.layers] }
  const args = new Map<string, string>()
  for (const { name, text } of stage.instructions) {
    if (name === 'RUN') await run(image, text, args, input)
    else if (name === 'COPY') await copy(image, text, input, images)
    else if (name === 'ARG') declare(text, args, input.buildArgs)
    else image = await configured(image, { name, text: substitute(text, args) }, input)
  }
  return image
}

function declare(
  text: string,
  args: Map<string, string>,
  given: ReadonlyMap<string, string>,
): void {
  const [name, byDefault] = argumentOf(text)
  const value = given.get(name) ?? byDefault
  // An argument without a value is not set in the environment of a step.
  if (value !== '') args.set(name, value)
}

async function run(
  image: Image,
  text: string,
  args: ReadonlyMap<string, string>,
  { workshop, env }: BuildInput,
): Promise<void> {
  const variables = { HOME: '/root', ...env, ...Object.fromEntries([...image.env, ...args]) }
  const assigned = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  const step = ['sh', '-c', `cd ${image.workdir} && ${text}`]
  await done(`RUN ${text}`, workshop, image, ['env', '-i', ...assigned, ...step])
}

async function done(
  what: string,
  workshop: Workshop,
  image: Image,
  argv: readonly string[],
): Promise<void> {
  const [command, args] = workshop.inRoot({ layers: image.layers, isWritable: true }, argv)
  const { code, stdout, stderr } = await runProcess(command, args)
  if (code !== 0) throw new Error(`${what} ended with ${code}\n${stdout}\n${stderr}`)
}

/**
 * Copies files into the folder, and of a folder its contents. Between stages only folders of the other's own layer are
 * copied.
 */
async function copy(
  image: Image,
  text: string,
  { workshop, context }: BuildInput,
  images: ReadonlyMap<string, Image>,
): Promise<void> {
  const [, from, rest = ''] = /^(?:--from=(\w+) )?([^-].*)$/.exec(text) ?? []
  const paths = rest.split(' ')
  const target = join(image.workdir, paths.pop() ?? '')
  if (paths.length === 0 || target === '/') throw new Error(`COPY ${text}`)
  const [layer = ''] = image.layers
  await done(`mkdir ${target}`, workshop, image, ['mkdir', '-p', target])
  const source = from === undefined ? context : (images.get(from)?.layers[0] ?? '')
  for (const name of paths) {
    const path = join(source, name)
    const to = join(layer, target)
    cpSync(path, statSync(path).isDirectory() ? to : join(to, name), { recursive: true })
  }
}

async function configured(
  image: Image,
  { name, text }: { readonly name: string; readonly text: string },
  { workshop }: BuildInput,
): Promise<Image> {
  switch (name) {
    case 'ENV':
      return { ...image, env: new Map([...image.env, ...pairsOf(text)]) }
    case 'LABEL':
      return { ...image, labels: new Map([...image.labels, ...pairsOf(text)]) }
    case 'USER':
      return { ...image, user: text }
    case 'WORKDIR':
      await done(`WORKDIR ${text}`, workshop, image, ['mkdir', '-p', text])
      return { ...image, workdir: text }
    case 'ENTRYPOINT':
      return { ...image, entrypoint: execFormOf(text), command: [] }
    case 'CMD':
      return { ...image, command: execFormOf(text) }
    case 'STOPSIGNAL':
      return { ...image, stopSignal: text }
    case 'HEALTHCHECK':
      return { ...image, health: healthOf(text) }
    case 'EXPOSE':
      return image
    default:
      throw new Error(`${name} is not known here`)
  }
}

function healthOf(text: string): NonNullable<Image['health']> {
  const [, flags = '', command = ''] = /^((?:--[\w-]+=\S+ )*)CMD (.*)$/.exec(text) ?? []
  return { flags, command: execFormOf(command) }
}

/** The file of an image path within its layers. */
export function inLayers({ layers }: Image, path: string): string {
  const found = layers.map((layer) => join(layer, path)).find((each) => isThere(each))
  if (found === undefined) throw new Error(`no ${path} in ${dirname(layers[0] ?? '')}`)
  return found
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}
