"""DDP and FDDP on many problems side by side, one problem a lane.

| file | contents |
|---|---|
| `memory` | trajectories and directions of the lanes, and the compiled calls on them |
| `state` | numbers of each lane: costs, regularisation, step lengths, statuses |
| `rules` | predicted decrease and acceptance of DDP and FDDP, for many lanes at once |
| `search` | line search: first one step length in all lanes, then further ones where they are needed |
| `queue` | rows that wait for a lane |
| `loop` | the iterations |
"""
