"""The training step in Python with PyTorch: the same networks, settings and resident batch as our trainer.

Channels-last, autocast to the precision of the job, fused SGD with Nesterov momentum, one thread per core, gradients
set to None; eager, or with torch.compile if the job has "compile". ResNet-18 equals that of torchvision, which does not
load with a CPU build of torch; the CIFAR network equals that of unstarve/models/cifar_net.h.
"""

ENVIRONMENT = ""  # the interpreter that runs the harness
JOBS = ["train"]


def candidates(job):
    return [{"threads": job["cores"]}]


def _conv_bn_relu(cin, cout, kernel=3, stride=1, relu=True):
    from torch import nn

    layers = [nn.Conv2d(cin, cout, kernel, stride, padding=3 if kernel == 7 else 0 if kernel == 1 else 1, bias=False),
              nn.BatchNorm2d(cout)]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if relu else nn.Sequential(*layers)


def resnet18(classes):
    from torch import nn

    class Block(nn.Module):
        def __init__(self, cin, cout, stride):
            super().__init__()
            self.body = nn.Sequential(_conv_bn_relu(cin, cout, 3, stride), _conv_bn_relu(cout, cout, relu=False))
            self.shortcut = _conv_bn_relu(cin, cout, 1, stride, relu=False) if stride != 1 or cin != cout else None
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            y = self.body(x)
            y += x if self.shortcut is None else self.shortcut(x)
            return self.relu(y)

    blocks, cin = [], 64
    for cout, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        blocks += [Block(cin, cout, stride), Block(cout, cout, 1)]
        cin = cout
    return nn.Sequential(_conv_bn_relu(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(512, classes))


def cifar_net(classes):
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, body):
            super().__init__()
            self.body = body

        def forward(self, x):
            return x + self.body(x)

    return nn.Sequential(
        _conv_bn_relu(3, 32, kernel=4, stride=2),
        _conv_bn_relu(32, 64), nn.MaxPool2d(2),
        _conv_bn_relu(64, 128), Residual(nn.Sequential(_conv_bn_relu(128, 128), _conv_bn_relu(128, 128))),
        nn.MaxPool2d(2), _conv_bn_relu(128, 256),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(256, classes),
    )


def batches(job, settings):
    import torch

    torch.set_num_threads(settings["threads"])
    torch.manual_seed(job["seed"])
    network = {"resnet18": resnet18, "cifar_net": cifar_net}[job["model"]](job["classes"])
    network = network.to(memory_format=torch.channels_last).train()
    images = torch.empty(job["batch"], 3, job["image_size"], job["image_size"]).uniform_(-2, 2)
    images = images.to(memory_format=torch.channels_last)
    labels = torch.randint(job["classes"], (job["batch"],))
    optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=5e-4,
                                fused=True)
    mixed = job["precision"] != "float32"
    precision = getattr(torch, job["precision"])

    def forward(inputs, targets):
        with torch.autocast("cpu", dtype=precision if mixed else torch.bfloat16, enabled=mixed):
            return torch.nn.functional.cross_entropy(network(inputs), targets)

    if job.get("compile"):
        forward = torch.compile(forward)
    while True:
        forward(images, labels).backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        yield images, labels
