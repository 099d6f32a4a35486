import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** A mount of a running container: a folder of the workshop, at a path in it. */
export type Mount = { readonly from: string; readonly at: string; readonly isReadOnly?: boolean }

export type Root = {
  readonly layers: readonly string[]
  /** Whether writes go into the first layer; else only mounts and /tmp are writable. */
  readonly isWritable: boolean
  readonly mounts?: readonly Mount[]
}

/** A directory in memory where roots are assembled, in a mount namespace that the rest of this machine does not see. */
export type Workshop = {
  /** Path of the directory as this process sees it. */
  readonly path: string
  /** The command that runs a program in such a root, as process 1 of its own namespace. */
  inRoot(root: Root, argv: readonly string[]): readonly [string, readonly string[]]
  /** Removes everything in it. */
  close(): Promise<void>
}

const PLACE = '/mnt'
const SIZE = '3g'

/** Ends with its standard input, so with this process at the latest, and takes the mounts with it. */
const HOLDER = `mount -t tmpfs -o size=${SIZE},mode=755 workshop ${PLACE} && echo ready && exec cat`

/** This machine's system beneath the layers stands in for a base image. Host names resolve as on this machine. */
const ENTER = `
set -e
place=$1 layers=$2 upper=$3
shift 3
root=$place/root
mkdir -p "$root"
if [ -n "$upper" ]; then
  mkdir -p "$place/scratch/$(basename "$upper")"
  mount -t overlay -o "lowerdir=$layers,upperdir=$upper,workdir=$place/scratch/$(basename "$upper")" image "$root"
else
  mount -t overlay -o "ro,lowerdir=$layers" image "$root"
fi
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777,size=64m,noexec,nosuid,nodev tmp "$root/tmp"
for file in /etc/resolv.conf /etc/hosts; do
  if [ -e "$root$file" ]; then mount --bind "$file" "$root$file" && mount -o remount,bind,ro "$root$file"; fi
done
while [ "$1" != -- ]; do
  mount --bind "$1" "$root$2"
  mount -o "remount,bind,nosuid,nodev,$3" "$root$2"
  shift 3
done
shift
exec chroot "$root" "$@"
`

/** Takes root's rights, as making namespaces requires. */
export async function openWorkshop(): Promise<Workshop> {
  const holder = spawn('unshare', ['--mount', 'sh', '-c', HOLDER], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(holder, 'exit')
  await Promise.race([
    once(holder.stdout, 'data'),
    exited.then(([code]) => Promise.reject(new Error(`no workshop: ${code}; it needs root`))),
  ])
  const path = `/proc/${holder.pid}/root${PLACE}`
  const inside = (file: string): string => file.replace(path, PLACE)
  return {
    path,
    inRoot({ layers, isWritable, mounts = [] }, argv) {
      const [first, ...rest] = layers.map(inside)
      const lower = isWritable ? rest : [first, ...rest]
      const bound = mounts.flatMap(({ from, at, isReadOnly }) => [
        ...[inside(from), at, isReadOnly === true ? 'ro' : 'rw'],
      ])
      const enter = ['sh', '-c', ENTER, 'sh', PLACE, [...lower, '/'].join(':')]
      const alone = ['--mount', '--pid', '--fork', '--kill-child']
      const inNamespace = [`--mount=/proc/${holder.pid}/ns/mnt`, 'unshare', ...alone, ...enter]
      return ['nsenter', [...inNamespace, isWritable ? (first ?? '') : '', ...bound, '--', ...argv]]
    },
    async close() {
      holder.stdin.end()
      await exited
    },
  }
}
