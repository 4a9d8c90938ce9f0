"""An installation looked at from within the cluster, as the chart's hooks and `helm test` do: `python -m` this.

It ships with the operator because its image has what is needed to talk to a cluster; the operator knows nothing of it.
"""
